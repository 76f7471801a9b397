// The first page: what is wrong where, and how much is known.

function headline() {
  const all = count(obligations);
  const failures = failing();
  const total = obligations.length;
  const share = total === 0 ? '' : `${number(all.proved + all.kept)} of ${number(total)} places where a check applies are proved.`;
  if (failures.length > 0) {
    const files = new Set(failures.map((finding) => finding.place?.file).filter(Boolean));
    return ['violated', `${several(failures.length, 'failure', 'failures')} in ${files.size === 1 ? shortPath([...files][0]) : several(files.size, 'file', 'files')}`, `Each was executed: its inputs and its path are known. ${share}`];
  }
  if (excused().length > 0) return ['unknown', 'No failure is news', `${several(excused().length, 'failure was', 'failures were')} known before, or a comment takes it back. ${share}`];
  const open = results.filter((result) => result.exit !== 0).map((result) => result.result);
  if (total === 0 && results.length > 0 && open.length === 0 && data.not_read.length === 0) return ['proved', 'Nothing to prove', 'No check applies anywhere in the program.'];
  if (total === 0) return ['unknown', 'Nothing was decided', open.join(', ') || 'No program could be read.'];
  if (all.unknown > 0 || data.not_read.length > 0) return ['unknown', 'No failure found, and not everything is proved', share];
  if (all.callers > 0) return ['callers', 'Nothing fails by itself; callers have duties', share];
  if (all.kept > 0) return ['kept', 'Proved, if callers keep the contracts', share];
  // The whole answer may be less than its parts: the work was stopped, or the text was not understood.
  if (open.length > 0) return ['unknown', 'No failure found, and not everything is decided', `${open.join(', ')}. ${share}`];
  return ['proved', 'Everything is proved', share];
}

// What is asked of the callers of one function for one reason is told once: the first finding, with the others beside it.
function demandsTogether(items) {
  const groups = new Map();
  for (const finding of items) {
    const key = `${finding.program.name} ${finding.entry} ${finding.check} ${finding.requires ?? finding.fails_when ?? finding.hangs_on ?? finding.number}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}
const groupCard = ([first, ...others]) => findingCard(first, others);

// Why places are not decided, the most frequent reason first.
function reasons() {
  const all = new Map();
  for (const item of obligations) if (item.verdict === 'unknown') all.set(item.reason, (all.get(item.reason) ?? 0) + 1);
  return [...all].sort((a, b) => b[1] - a[1]);
}

function findingCard(finding, others = []) {
  const values = Object.entries(finding.values);
  const code = h('div', { class: 'excerpt' });
  if (finding.place && byFile.has(finding.place.file)) {
    part(byFile.get(finding.place.file).part).then((text) => {
      const lines = text.split('\n');
      const { line, end_line } = finding.place;
      for (let at = Math.max(1, line - 1); at <= Math.min(line + 1, lines.length); at++) {
        const own = (lines[at - 1] ?? '').replace(/\r$/, '');
        const marks = at === line ? [[column(own, finding.place.column - 1), end_line === line ? column(own, finding.place.end_column - 1) : own.length, `mark ${finding.verdict}`, finding.title]] : [];
        code.append(h('div', { class: at === line ? 'row here' : 'row' }, h('span', { class: 'number' }, String(at)), h('span', { class: 'text' }, codeLine(own, { open: false }, marks))));
      }
    }).catch(() => undefined);
  }
  return h('article', { class: `card ${finding.verdict}` },
    h('h3', {}, sign(finding.verdict), ' ', findingLink(finding, prose(finding.title))),
    h('p', { class: 'at' }, placeLink(finding.place), ' in ', functionLink(keyOf(finding.program, finding.function), finding.function), ' ', h('span', { class: 'tag' }, finding.check),
      finding.programs.size > 1 ? h('span', { class: 'tag' }, several(finding.programs.size, 'program', 'programs')) : ''),
    code,
    values.length > 0 ? h('p', { class: 'when' }, 'when ', values.map(([name, value], at) => [at > 0 ? ', ' : '', h('code', {}, `${name} = ${value}`)])) : '',
    demandOf(finding) ? h('p', { class: 'when' }, demandOf(finding)) : '',
    finding.is_news === false ? h('p', { class: 'when' }, 'An earlier run had it, or no changed line has to do with it.') : '',
    finding.suppressed ? h('p', { class: 'when' }, 'A comment takes it back: ', finding.suppressed) : '',
    others.length > 0 ? h('p', { class: 'when' }, 'The same at ', others.map((other, at) => [at > 0 ? ', ' : '', findingLink(other, where(other.place))])) : '',
    h('p', { class: 'do' }, link(`finding/${finding.number}`, { class: 'button' }, `Step through (${several(finding.steps.length, 'step', 'steps')})`), h('span', { class: 'help' }, finding.help)));
}

// What a finding asks of callers, in words.
function demandOf(finding) {
  if (finding.verdict !== 'callers') return undefined;
  const who = functionLink(keyOf(finding.program, finding.entry), finding.entry);
  if (finding.hangs_on) return ['It depends on what ', h('code', {}, finding.hangs_on), ' does, of which nothing is known.'];
  if (finding.requires) return ['Callers of ', who, ' must see to ', prose(finding.requires), '.'];
  if (finding.fails_when) return ['Callers of ', who, ' must not let it come to ', prose(finding.fails_when), '.'];
  return ['It fails for some arguments of ', who, '.'];
}

const countColumns = (of) => [
  { title: 'verdicts', key: (row) => of(row).length, cell: (row) => bar(count(of(row))) },
  ...KINDS.map((kind) => ({
    title: VERDICTS[kind].word, numeric: true, key: (row) => count(of(row))[kind],
    cell: (row) => { const n = count(of(row))[kind]; return n === 0 ? h('span', { class: 'zero' }, '0') : h('span', { class: `n ${kind}` }, number(n)); },
  })),
];

const rank = (items) => { const found = worst(items); return found === undefined ? 9 : KINDS.indexOf(found); };
const state = (items) => { const found = worst(items); return found === undefined ? h('span', { class: 'none' }, 'nothing was asked here') : badge(found); };

function fileTable(rows) {
  return table([
    { title: 'file', key: (row) => row.path, cell: (row) => link(`file/${encodeURIComponent(row.path)}`, { class: 'code' }, shortPath(row.path)) },
    { title: 'worst', key: (row) => rank(row.obligations), cell: (row) => state(row.obligations) },
    ...countColumns((row) => row.obligations),
  ], rows, { name: 'files', sort: 1 });
}

function functionTable(rows) {
  return table([
    { title: 'function', key: (row) => row.name, cell: (row) => functionLink(row.key, row.key) },
    { title: 'worst', key: (row) => rank(row.obligations), cell: (row) => state(row.obligations) },
    { title: 'at', key: (row) => `${row.place?.file}:${String(row.place?.line ?? 0).padStart(7, '0')}`, cell: (row) => (row.place ? placeLink(row.place) : '') },
    ...countColumns((row) => row.obligations),
  ], rows, { name: 'functions', sort: 1 });
}

function checkTable() {
  const asked = new Set(results.flatMap((result) => result.checks));
  const rows = [...asked].map((check) => ({ check, obligations: obligations.filter((item) => item.check === check) }));
  return table([
    { title: 'check', key: (row) => row.check, cell: (row) => link(`check/${row.check}`, { class: 'code' }, row.check) },
    { title: 'worst', key: (row) => rank(row.obligations), cell: (row) => state(row.obligations) },
    ...countColumns((row) => row.obligations),
  ], rows, { name: 'checks', sort: 1 });
}

// Obligations that pass a filter of verdicts and words.
function obligationList(items, { withFunction = true } = {}) {
  const chosen = new Set();
  const box = h('div');
  const counts = h('div');
  const words = h('input', { type: 'search', placeholder: 'Filter: condition, check, function, file, reason', 'aria-label': 'Filter', oninput: () => draw() });
  const reason = (item) => item.reason ?? (item.by ? `by ${item.by}` : '');
  const texts = (item) => `${item.condition} ${item.check} ${item.function} ${where(item.place)} ${reason(item)}`.toLowerCase();
  const draw = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = items.filter((item) => (chosen.size === 0 || chosen.has(item.verdict)) && wanted.every((word) => texts(item).includes(word)));
    refill(counts, legend(count(items), (kind) => { if (!chosen.delete(kind)) chosen.add(kind); draw(); }, chosen));
    refill(box, table([
      { title: 'verdict', key: (row) => KINDS.indexOf(row.verdict), cell: (row) => badge(row.verdict) },
      { title: 'must hold', key: (row) => row.condition, cell: (row) => (row.findingItem ? findingLink(row.findingItem, h('code', {}, row.condition)) : h('code', {}, row.condition)) },
      { title: 'check', key: (row) => row.check, cell: (row) => link(`check/${row.check}`, {}, row.check) },
      ...(withFunction ? [{ title: 'function', key: (row) => row.function, cell: (row) => functionLink(row.key, row.function) }] : []),
      { title: 'at', key: (row) => `${row.place?.file}:${String(row.place?.line ?? 0).padStart(7, '0')}`, cell: (row) => placeLink(row.place) },
      { title: 'why', key: reason, cell: (row) => h('span', { class: 'reason' }, prose(reason(row))) },
    ], shown, { name: 'places', sort: 0 }));
  };
  draw();
  return h('div', { class: 'filtered' }, h('div', { class: 'filters' }, counts, words), box);
}

function overview() {
  const [kind, title, detail] = headline();
  const failures = failing();
  const demands = findings.filter((finding) => finding.verdict === 'callers');
  const problems = data.programs.flatMap((program) => program.problems);
  const all = count(obligations);
  const assumed = new Set(results.flatMap((result) => result.rests_on)).size;
  const cards = (groups, most) => {
    const box = h('div', { class: 'cards' }, groups.slice(0, most).map(groupCard));
    if (groups.length > most) box.append(h('button', { class: 'more', onclick: (event) => { event.target.remove(); box.append(...groups.slice(most).map(groupCard)); } }, `Show the other ${number(groups.length - most)}`));
    return box;
  };
  return [
    h('section', { class: `hero ${kind}` },
      h('span', { class: `big ${kind}`, 'aria-hidden': 'true' }, VERDICTS[kind].sign),
      h('div', {}, h('h1', {}, title), h('p', {}, detail),
        data.programs.length > 1 ? h('p', {}, several(data.programs.length, 'program', 'programs'), ', ', several(byFile.size, 'file', 'files'), ', ', several(functions.size, 'function', 'functions'), '.') : '',
        assumed > 0 ? h('p', {}, 'What is proved rests on ', link('assumptions', {}, several(assumed, 'assumption', 'assumptions')), '.') : '',
        bar(all, true), legend(all, (chosen) => { location.hash = `#/places/${chosen}`; }, new Set())),
    ),
    data.not_read.length > 0 ? h('section', {}, h('h2', {}, 'Could not be read'), h('ul', {}, data.not_read.map((name) => h('li', {}, h('code', {}, name))))) : '',
    problems.length > 0 ? h('section', {}, h('h2', {}, 'Problems of the text'), h('ul', { class: 'problems' }, problems.map((problem) => h('li', {}, h('b', {}, problem.severity), ': ', prose(problem.message), ' ', problem.place ? placeLink(problem.place) : '', problem.help ? h('span', { class: 'help' }, ` ${problem.help}`) : '')))) : '',
    failures.length > 0 ? h('section', { id: 'failures' }, h('h2', {}, 'What is wrong'), cards(failures.map((finding) => [finding]), 20)) : '',
    excused().length > 0 ? h('section', {}, h('h2', {}, 'Known before, or taken back'), h('p', { class: 'lead' }, 'These fail, too, and do not count.'), cards(excused().map((finding) => [finding]), 6)) : '',
    demands.length > 0 ? h('section', {}, h('h2', {}, 'What callers must see to'), h('p', { class: 'lead' }, 'Each of these fails for arguments that nothing in the program passes, but somebody could.'), cards(demandsTogether(demands), 6)) : '',
    all.unknown > 0 ? h('section', {}, h('h2', {}, 'Why the rest is not decided'), h('ul', { class: 'reasons' }, reasons().slice(0, 6).map(([reason, n]) => h('li', {}, h('b', { class: 'n unknown' }, number(n)), ' ', link(`places/unknown/${encodeURIComponent(reason)}`, {}, prose(reason)))))) : '',
    h('section', {}, h('h2', {}, 'By file'), fileTable([...byFile.values()].filter((file) => file.obligations.length > 0 || file.findings.length > 0))),
    h('section', {}, h('h2', {}, 'By check'), checkTable()),
    h('section', {}, h('h2', {}, 'By function'), functionTable([...functions.values()].filter((item) => item.obligations.length > 0))),
  ];
}

// One check: what it means, and where it applies.
function checkView(check) {
  const known = data.checks[check];
  const page = known?.page ?? '';
  return [
    h('h1', {}, h('code', {}, check)),
    known ? h('p', { class: 'lead' }, prose(known.help), '. ', known.cwe.map((cwe) => h('span', { class: 'tag' }, `CWE-${cwe}`))) : '',
    page ? h('details', {}, h('summary', {}, 'What it looks for, with examples'), markdown(page)) : '',
    obligationList(obligations.filter((item) => item.check === check)),
  ];
}

// The little Markdown that pages of checks are written in.
function markdown(text) {
  const out = h('div', { class: 'page' });
  for (const block of text.split(/\n(?=```)|(?<=\n```)\n/)) {
    const code = /^```\w*\n([\s\S]*?)\n?```\s*$/.exec(block);
    if (code) {
      const comment = { open: false };
      out.append(h('pre', {}, code[1].split('\n').map((line) => [codeLine(line, comment), '\n'])));
      continue;
    }
    for (const paragraph of block.split(/\n{2,}/)) {
      const title = /^#+\s+(.*)$/.exec(paragraph.split('\n')[0]);
      const rest = title ? paragraph.split('\n').slice(1).join('\n') : paragraph;
      if (title) out.append(h('h3', {}, prose(title[1])));
      if (rest.trim()) out.append(h('p', {}, prose(rest)));
    }
  }
  return out;
}
