// Pictures of automata and of the call graph, for whoever wants to look inside.

const MOST_NODES = 900;
const CHARACTER = 6.65;
const LINE = 15;
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// A drawing that can be made larger and smaller.
function drawing(content, { width, height }, title) {
  const picture = svg('svg', { viewBox: `-8 -8 ${width + 16} ${height + 16}`, role: 'img', 'aria-label': title },
    svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: '7', refY: '4', markerWidth: '7', markerHeight: '7', orient: 'auto-start-reverse' }, svg('path', { d: 'M0,0L8,4L0,8z' }))), content);
  let scale = 1;
  const box = h('div', { class: 'drawing scroll', tabindex: '0' }, picture);
  const size = (to) => {
    scale = Math.min(4, Math.max(0.08, to));
    picture.setAttribute('width', (width + 16) * scale);
    picture.setAttribute('height', (height + 16) * scale);
  };
  size(1);
  const fit = () => size(Math.min(1, box.clientWidth / (width + 20)));
  later(fit);
  return h('figure', { class: 'graph' },
    h('figcaption', {}, title, h('span', { class: 'spacer' }), h('button', { class: 'button', onclick: () => size(scale * 1.25), 'aria-label': 'larger' }, '+'), h('button', { class: 'button', onclick: () => size(scale / 1.25), 'aria-label': 'smaller' }, '−'), h('button', { class: 'button', onclick: fit }, 'fit')), box);
}

const edgeLine = (edge, attributes = {}) => svg('path', { class: edge.isBack ? 'edge back' : 'edge', d: curve(edge.points), 'marker-end': 'url(#arrow)', ...attributes });

// Straight stretches of an automaton are one box. An obligation is a line in it; its error location is not drawn.
function blocksOf(graph, verdictOf) {
  const errors = new Map(graph.errors.map((location, number) => [location, number]));
  const out = Array.from({ length: graph.locations }, () => []);
  const entering = new Array(graph.locations).fill(0);
  const asked = new Map();
  for (const [from, to, text, isCondition, line] of graph.edges) {
    if (errors.has(to)) { asked.set(from, [...(asked.get(from) ?? []), errors.get(to)]); continue; }
    out[from].push({ to, text, isCondition, line });
    entering[to] += 1;
  }
  const heads = new Set(graph.heads);
  const nodes = [];
  const edges = [];
  const seen = new Set();
  const open = [graph.entry];
  while (open.length > 0) {
    const start = open.pop();
    if (seen.has(start)) continue;
    seen.add(start);
    const lines = [];
    let line;
    let at = start;
    for (;;) {
      const checked = asked.get(at) ?? [];
      const known = graph.values?.[at];
      if (at === start && known?.length > 0) lines.push(...knownLines(known));
      for (const number of checked) lines.push({ check: number, verdict: verdictOf(number), known });
      const [next, ...others] = out[at];
      if (next === undefined || others.length > 0) break;
      line ??= next.line ?? undefined;
      if (next.text && !(checked.length > 0 && next.isCondition)) lines.push({ text: next.isCondition ? `[${next.text}]` : next.text, known });
      if (entering[next.to] !== 1 || heads.has(next.to) || next.to === graph.entry || next.to === start) {
        edges.push({ from: start, to: next.to, text: '' });
        open.push(next.to);
        at = undefined;
        break;
      }
      at = next.to;
    }
    if (at !== undefined) {
      for (const next of out[at]) {
        line ??= next.line ?? undefined;
        edges.push({ from: start, to: next.to, text: next.text });
        open.push(next.to);
      }
    }
    nodes.push({ id: start, lines, line, isEntry: start === graph.entry, isExit: start === graph.exit, isHead: heads.has(start) });
  }
  return { nodes, edges };
}

// What is known where a box begins: the first few things, and all of them where somebody points at it.
const MOST_KNOWN = 4;
function knownLines(known) {
  const shown = known.slice(0, MOST_KNOWN).map((text) => ({ text, kind: 'fact', known }));
  return known.length > MOST_KNOWN ? [...shown, { text: `… ${known.length - MOST_KNOWN} more`, kind: 'fact', known }] : shown;
}

const MOST_LINES = 16;
function automatonPicture(item, graph) {
  const verdicts = new Map(item.obligations.map((obligation) => [obligation.number, obligation]));
  const { nodes, edges } = blocksOf(graph, (number) => verdicts.get(number));
  if (nodes.length > MOST_NODES) return h('p', { class: 'none' }, `The automaton has ${number(nodes.length)} blocks: too many to draw. proofline dump cfa --dot writes it for Graphviz.`);
  for (const node of nodes) {
    const before = (line) => (line.known?.length > 0 ? `\nbefore: ${line.known.join(', ')}` : '');
    const lines = node.lines.map((line) => (line.text !== undefined ? { text: cut(line.text, 56), kind: line.kind, full: line.kind === 'fact' ? `known here: ${line.known.join(', ')}` : line.text + before(line) } : {
      text: cut(`${VERDICTS[line.verdict?.verdict ?? 'unknown'].sign} ${line.verdict?.check ?? 'not asked'}: ${line.verdict?.condition ?? ''}`, 56), kind: line.verdict?.verdict ?? 'none', full: (line.verdict?.condition ?? '') + before(line),
    }));
    const rest = lines.length - MOST_LINES;
    node.shown = rest > 1 ? [...lines.slice(0, MOST_LINES - 1), { text: `… ${rest + 1} more` }] : lines;
    if (node.isEntry) node.shown.unshift({ text: `${item.name} begins`, kind: 'name' });
    if (node.isExit) node.shown.push({ text: 'returns', kind: 'name' });
    if (node.shown.length === 0) node.shown.push({ text: node.isHead ? 'loop' : '·', kind: 'name' });
    node.w = Math.max(26, ...node.shown.map((line) => line.text.length * CHARACTER)) + 16;
    node.h = node.shown.length * LINE + 10;
  }
  // Conditions stand on their edges: they are small nodes of their own.
  const labels = [];
  const parts = [];
  for (const edge of edges) {
    if (!edge.text) { parts.push(edge); continue; }
    const text = cut(edge.text, 40);
    const id = `label ${labels.length}`;
    labels.push({ id, text, full: edge.text, w: text.length * CHARACTER + 10, h: LINE + 2 });
    parts.push({ from: edge.from, to: id, isHalf: true }, { from: id, to: edge.to });
  }
  const size = layout([...nodes, ...labels], parts);
  const box = (node) => {
    const place = item.place && node.line ? `#/file/${encodeURIComponent(item.place.file)}/${node.line}` : undefined;
    const content = [
      svg('rect', { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: 5, class: ['block', node.isHead && 'head', node.isEntry && 'entry'].filter(Boolean).join(' ') }),
      node.shown.map((line, at) => svg('text', { x: node.x - node.w / 2 + 8, y: node.y - node.h / 2 + 16 + at * LINE, class: line.kind ? `on ${line.kind}` : '' }, svg('title', {}, line.full ?? line.text), line.text)),
    ];
    return place ? svg('a', { href: place }, content) : svg('g', {}, content);
  };
  return drawing([
    parts.map((edge) => edgeLine(edge, edge.isHalf && { 'marker-end': undefined })), nodes.map(box),
    labels.map((label) => svg('g', {}, svg('rect', { x: label.x - label.w / 2, y: label.y - label.h / 2, width: label.w, height: label.h, rx: 8, class: 'condition' }), svg('text', { x: label.x, y: label.y + 4, 'text-anchor': 'middle', class: 'condition' }, svg('title', {}, label.full), label.text))),
  ], size, `Automaton of ${item.name}: ${several(nodes.length, 'block', 'blocks')}; loops have a thick border`);
}

// Functions from left to right: callers, then whom they call.
function callPicture(items, chosen) {
  const keys = new Set(items.map((item) => item.key));
  const edges = [];
  for (const item of items) for (const name of calleesOf(item)) { const to = keyOf(item.program, name); if (keys.has(to)) edges.push({ from: item.key, to, isPointer: !item.calls.includes(name) }); }
  const linked = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
  const shown = items.filter((item) => linked.has(item.key) || item.key === chosen);
  if (shown.length > MOST_NODES) return h('p', { class: 'none' }, `${number(shown.length)} functions are too many to draw. The page of each function shows who calls it.`);
  const nodes = shown.map((item) => {
    const text = `${letterOf(item.obligations)} ${cut(item.name, 34)}`;
    // Layers are columns here: what is wide is high.
    return { id: item.key, item, text, h: text.length * 7.1 + 16, w: 22 };
  });
  const size = layout(nodes, edges);
  for (const edge of edges) edge.points = edge.points.map(([x, y]) => [y, x]);
  const flat = (points) => {
    let out = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
    for (let at = 1; at < points.length; at++) {
      const [[x0, y0], [x1, y1]] = [points[at - 1], points[at]];
      out += `C${((x0 + x1) / 2).toFixed(1)},${y0.toFixed(1)} ${((x0 + x1) / 2).toFixed(1)},${y1.toFixed(1)} ${x1.toFixed(1)},${y1.toFixed(1)}`;
    }
    return out;
  };
  const picture = drawing([
    edges.map((edge) => svg('path', { class: ['edge', edge.isBack && 'back', edge.isPointer && 'pointer'].filter(Boolean).join(' '), d: flat(edge.points), 'marker-end': 'url(#arrow)', 'data-from': edge.from, 'data-to': edge.to })),
    nodes.map((node) => {
      const kind = worst(node.item.obligations) ?? 'none';
      return svg('a', { href: `#/function/${encodeURIComponent(node.id)}`, onmouseenter: () => light(node.id), onmouseleave: () => light() },
        svg('rect', { x: node.y - node.h / 2, y: node.x - node.w / 2, width: node.h, height: node.w, rx: 5, class: `function ${kind}${node.id === chosen ? ' chosen' : ''}` }),
        svg('text', { x: node.y - node.h / 2 + 8, y: node.x + 4, class: `on ${kind}` }, svg('title', {}, `${node.id}: ${phrase(node.item.obligations)}`), node.text));
    }),
  ], { width: size.height, height: size.width }, `${several(nodes.length, 'function', 'functions')}: who calls whom, from left to right${edges.some((edge) => edge.isPointer) ? '; dotted: through a pointer' : ''}`);
  const light = (id) => {
    for (const path of picture.querySelectorAll('.edge')) {
      path.classList.toggle('lit', id !== undefined && (path.dataset.from === id || path.dataset.to === id));
      path.classList.toggle('dim', id !== undefined && path.dataset.from !== id && path.dataset.to !== id);
    }
  };
  const alone = items.length - shown.length;
  return [picture, alone > 0 ? h('p', { class: 'hint' }, `${several(alone, 'function calls', 'functions call')} none of these and ${alone === 1 ? 'is' : 'are'} called by none: not drawn.`) : ''];
}

// By name and through pointers.
const calleesOf = (item) => [...new Set([...item.calls, ...(item.through_pointers ?? [])])];
const callersOf = (item) => [...functions.values()].filter((other) => other.program === item.program && calleesOf(other).includes(item.name));

// Two calls up and down from a function.
function near(item) {
  const out = new Set([item]);
  const spread = (next) => {
    let edge = [item];
    for (let round = 0; round < 2; round++) {
      edge = edge.flatMap(next).filter((other) => !out.has(other));
      edge.forEach((other) => out.add(other));
    }
  };
  spread((of) => calleesOf(of).map((name) => functions.get(keyOf(of.program, name))).filter(Boolean));
  spread(callersOf);
  return [...out];
}

// What is known of a function.
function functionView(key) {
  const item = functions.get(key);
  if (!item) return [h('h1', {}, 'No such function'), h('p', {}, h('code', {}, key))];
  const { program, name } = item;
  const contract = program.results.map((result) => result.contracts[name]).find(Boolean);
  const notKept = program.results.flatMap((result) => result.calls_not_kept[name] ?? []);
  const problems = program.results.flatMap((result) => result.contract_problems[name] ?? []);
  const isResting = program.results.some((result) => result.proved_if_nothing_fails_before.includes(name));
  const loops = program.loops.filter((found) => found.function === name || name.endsWith(`:${found.function}`));
  const ensures = program.ensures[name];
  const demands = item.findings.filter((finding) => finding.verdict === 'callers' && finding.entry === name);
  const wrong = item.findings.filter((finding) => finding.verdict === 'violated');
  const callers = callersOf(item);
  const lazily = (title, draw) => {
    const body = h('div');
    return h('details', { ontoggle: async (event) => { if (event.target.open && !body.firstChild) fill(body, {}, [await draw()]); } }, h('summary', {}, title), body);
  };
  const list = (all, none) => (all.length === 0 ? h('span', { class: 'none' }, none) : all.map((other, at) => [at > 0 ? ', ' : '', functionLink(typeof other === 'string' ? keyOf(program, other) : other.key, typeof other === 'string' ? other : other.name)]));
  const fact = (title, ...content) => [h('dt', {}, title), h('dd', {}, ...content)];
  const facts = [
    contract ? fact('requires', h('ul', {}, contract.callers_pass.map((text) => h('li', {}, prose(text)))), contract.requires.length > 0 ? h('pre', { class: 'acsl' }, `/*@ requires ${contract.requires.join(';\n    requires ')}; */`) : '',
      h('p', { class: 'hint' }, contract.all_callers_are_seen ? 'All its callers are in the program.' : 'Found out: under this it is proved.')) : '',
    demands.length > 0 ? fact('callers must see to', h('ul', {}, demands.map((finding) => h('li', {}, finding.requires ? prose(finding.requires) : finding.fails_when ? ['not ', prose(finding.fails_when)] : 'some arguments', ' — ', findingLink(finding, prose(finding.title)), ' at ', placeLink(finding.place))))) : '',
    ensures ? fact('ensures', h('code', {}, ensures), h('p', { class: 'hint' }, 'Proved of every execution of this program.')) : '',
    loops.length > 0 ? fact('invariants of loops', h('ul', {}, loops.map((found) => h('li', {}, placeLink({ file: found.file, line: found.line }), ' ', h('code', {}, found.invariant))))) : '',
    notKept.length > 0 ? fact('not shown of its calls', h('ul', {}, notKept.map((text) => h('li', {}, prose(text))))) : '',
    problems.length > 0 ? fact('its contract in the text', h('ul', {}, problems.map((text) => h('li', {}, prose(text))))) : '',
    isResting ? fact('rests on', 'What is proved here is proved of executions on which nothing fails before.') : '',
    fact('calls', list(item.calls, 'nothing'), item.calls_through_pointers ? [', and through pointers: ', list(item.through_pointers, 'code that is not here')] : ''),
    fact('called by', list(callers, 'nobody in the program')),
  ];
  return [
    h('h1', {}, signOf(item.obligations), ' ', h('code', {}, name)),
    h('p', {}, item.place ? placeLink(item.place) : '', ' ', h('span', {}, phrase(item.obligations)), data.programs.length > 1 ? [' in the program ', h('code', {}, program.name)] : ''),
    bar(count(item.obligations), true),
    wrong.length > 0 ? h('section', {}, h('h2', {}, 'What is wrong'), h('div', { class: 'cards' }, wrong.map((finding) => findingCard(finding)))) : '',
    h('dl', { class: 'facts' }, facts),
    lazily('The automaton', async () => automatonPicture(item, (await part(item.part))[name])),
    lazily('The graph of abstract states', async () => statesPicture(item, (await part(item.part))[name].states)),
    lazily('Who calls it, whom it calls', () => callPicture(near(item), key)),
    h('section', {}, h('h2', {}, 'Where checks apply'), obligationList(item.obligations, { withFunction: false })),
  ];
}

function callsView() {
  return [h('h1', {}, 'Who calls whom'), h('p', { class: 'lead' }, 'Calls by name, and, dotted, through pointers; a click leads to the function.'), callPicture([...functions.values()])];
}
