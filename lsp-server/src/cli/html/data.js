// What the report shows, and the questions that views ask about it. Knows no elements.

const data = JSON.parse(document.getElementById('results').textContent);

// Verdicts from the worst to the best. Each has a sign besides its colour.
const VERDICTS = {
  violated: { sign: '✗', word: 'fails', title: 'An execution was found on which this fails.' },
  callers: { sign: '◆', word: 'depends on callers', title: 'It fails for some arguments: callers must not pass them.' },
  unknown: { sign: '?', word: 'not decided', title: 'Neither proved nor refuted; the reason is beside it.' },
  kept: { sign: '◇', word: 'proved under a contract', title: 'Proved, if callers keep the contract of the function.' },
  proved: { sign: '✓', word: 'proved', title: 'Holds in every execution.' },
};
const KINDS = Object.keys(VERDICTS);

// Parts: texts and automata, looked into when they are shown.
const arrived = new Map();
const awaited = new Map();
globalThis.proofline = {
  part(number, value) {
    arrived.set(number, value);
    awaited.get(number)?.(value);
  },
};
function part(number) {
  if (arrived.has(number)) return Promise.resolve(arrived.get(number));
  const inside = document.getElementById(`part-${number}`);
  if (inside) {
    arrived.set(number, JSON.parse(inside.textContent));
    return Promise.resolve(arrived.get(number));
  }
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `parts/${number}.js`;
    awaited.set(number, resolve);
    script.onerror = () => reject(new Error(`parts/${number}.js is missing: it belongs beside this page`));
    document.head.append(script);
  });
}

// One list of everything, whatever program and question it belongs to. What several programs share is in it once.
const functions = new Map();
const findings = [];
const obligations = [];
const byFile = new Map();

function keyOf(program, name) {
  return data.programs.length > 1 ? `${program.name}/${name}` : name;
}

function placeKey(place) {
  return place ? `${place.file}:${place.line}:${place.column}` : '';
}

function collect() {
  const known = new Map();
  const told = new Map();
  for (const program of data.programs) {
    for (const item of program.functions) {
      functions.set(keyOf(program, item.name), { ...item, key: keyOf(program, item.name), program, obligations: [], findings: [] });
    }
    for (const result of program.results) {
      const own = result.findings.map((finding) => {
        const key = `${finding.check} ${placeKey(finding.place)} ${finding.title} ${finding.entry} ${finding.kind}`;
        if (!told.has(key)) {
          told.set(key, { ...finding, number: findings.length, program, verdict: finding.kind === 'failure' ? 'violated' : 'callers', programs: new Set() });
          findings.push(told.get(key));
        }
        // News in one program is news.
        told.get(key).is_news ||= finding.is_news;
        told.get(key).programs.add(program);
        return told.get(key);
      });
      for (const obligation of result.obligations) {
        const finding = obligation.verdict === 'violated' ? own[Number(obligation.finding)] : undefined;
        const verdict =
          obligation.verdict === 'violated' ? (finding?.verdict ?? 'violated')
          : obligation.verdict === 'proved if callers keep the contract' ? 'kept'
          : obligation.verdict;
        const item = { ...obligation, reason: obligation.why ?? obligation.reason, verdict, findingItem: finding, program, key: keyOf(program, obligation.function) };
        functions.get(item.key)?.obligations.push(item);
        const same = `${item.check} ${placeKey(item.place)} ${item.place?.end_column} ${item.condition} ${item.place ? '' : item.key + item.number}`;
        const before = known.get(same);
        // In several programs, or in several copies of a text: the worst counts.
        if (before === undefined) {
          known.set(same, obligations.length);
          obligations.push(item);
        } else if (KINDS.indexOf(verdict) < KINDS.indexOf(obligations[before].verdict)) {
          obligations[before] = item;
        }
      }
    }
  }
  for (const finding of findings) {
    for (const program of finding.programs) {
      for (const name of new Set([finding.function, finding.entry])) functions.get(keyOf(program, name))?.findings.push(finding);
    }
  }
  findings.sort((a, b) => KINDS.indexOf(a.verdict) - KINDS.indexOf(b.verdict) || a.number - b.number);
  findings.forEach((finding, at) => { finding.number = at; });
  for (const file of data.files) byFile.set(file.path, { ...file, obligations: [], findings: [], functions: [], problems: [], loops: [] });
  for (const item of obligations) if (item.place) byFile.get(item.place.file)?.obligations.push(item);
  for (const item of findings) if (item.place) byFile.get(item.place.file)?.findings.push(item);
  for (const item of functions.values()) if (item.place) byFile.get(item.place.file)?.functions.push(item);
  for (const program of data.programs) {
    for (const found of program.loops) byFile.get(found.file)?.loops.push(found);
    for (const problem of program.problems) if (problem.place) byFile.get(problem.place.file)?.problems.push(problem);
  }
}
collect();

// Failures that count: news that no comment takes back; and the others.
const failing = () => findings.filter((finding) => finding.verdict === 'violated' && finding.is_news && !finding.suppressed);
const excused = () => findings.filter((finding) => finding.verdict === 'violated' && !(finding.is_news && !finding.suppressed));

function count(items) {
  const out = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const item of items) out[item.verdict] += 1;
  return out;
}

// The verdict of a function or file: its worst one.
function worst(items) {
  return KINDS.find((kind) => items.some((item) => item.verdict === kind));
}

const results = data.programs.flatMap((program) => program.results);

// What all paths begin with, so that it need not be read again and again.
const prefix = (() => {
  const folders = data.files.map((file) => file.path.split('/').slice(0, -1));
  const own = folders.filter((folder) => !(folder[0] === '' && folder[1] === 'usr'));
  if (own.length === 0) return '';
  let length = 0;
  while (own.every((folder) => folder[length] !== undefined && folder[length] === own[0][length])) length += 1;
  return own[0].slice(0, length).map((folder) => `${folder}/`).join('');
})();
const shortPath = (path) => (path.startsWith(prefix) ? path.slice(prefix.length) : path);
const where = (place) => (place ? `${shortPath(place.file)}:${place.line}` : '');

// Where a part of a line begins and ends for scripts, which do not count in bytes.
const encoder = new TextEncoder();
function column(line, bytes) {
  if (bytes <= 0) return 0;
  let at = 0;
  let seen = 0;
  for (const c of line) {
    if (seen >= bytes) break;
    const code = c.codePointAt(0);
    seen += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += c.length;
  }
  return at;
}

// What is known at a step: values by call, memory as it was last written, and objects of the heap.
function stateAt(finding, last) {
  const frames = [{ function: finding.entry, values: new Map() }];
  const memory = new Map();
  const objects = new Map();
  // What callers and inputs give that is no plain value: memory that they pass, calls that fail.
  const given = [];
  let gap = -1;
  for (let at = 0; at <= last; at++) {
    const step = finding.steps[at];
    if (step.left_out > 0) {
      gap = at;
      continue;
    }
    const { depth } = step;
    frames.length = Math.min(frames.length, depth + 1);
    while (frames.length <= depth) frames.push({ function: '', values: new Map() });
    frames[depth].function = step.function;
    if (step.change) {
      const { name, value } = step.change;
      const isPlain = /^[A-Za-z_]\w*$/.test(name);
      const into = step.is_global ? memory : frames[depth].values;
      into.set(step.is_global && !isPlain ? `${step.function} ${depth} ${name}` : name, { name, value, step: at, function: step.is_global && !isPlain ? step.function : '' });
    }
    if (step.kind === 'input' && !step.change) given.push({ text: step.text, step: at });
    if (step.kind === 'call') {
      const values = new Map(step.arguments.map(({ name, value }) => [name, { name, value, step: at }]));
      frames.push({ function: /^call `([^(`]*)\(/.exec(step.text)?.[1] ?? '', values });
    }
    if (step.object?.made) objects.set(step.object.made, { name: step.object.made, size: step.object.size, made: at });
    if (step.object?.freed) {
      const name = step.object.freed.replace(/ \+ .*$/, '');
      objects.set(name, { ...(objects.get(name) ?? { name }), freed: at });
    }
  }
  return { frames, memory, objects, given, gap };
}
