// The graph of abstract states (ARG): what one pass of intervals has reached of a function, drawn from the text that `proofline dump arg --dot` writes.

const MOST_STATES = 400;

// Nodes and edges of the graphs of a text for Graphviz, as we write it: one a line.
function readGraphs(text) {
  const quoted = '"((?:[^"\\\\]|\\\\.)*)"';
  const plainText = (label) => label.replaceAll(/\\(.)/g, (_, letter) => (letter === 'l' ? '\n' : letter));
  const patterns = {
    graph: new RegExp(`^digraph ${quoted}`),
    edge: new RegExp(`^  (n\\d+) -> (n\\d+)(?: \\[label=${quoted}\\])?`),
    node: new RegExp(`^  (n\\d+) \\[label=${quoted}(.*)\\];$`),
  };
  const graphs = [];
  for (const line of text.split('\n')) {
    const graph = patterns.graph.exec(line);
    if (graph) { graphs.push({ name: plainText(graph[1]), nodes: [], edges: [] }); continue; }
    const here = graphs.at(-1);
    const edge = patterns.edge.exec(line);
    if (edge) { here.edges.push({ from: edge[1], to: edge[2], text: edge[3] === undefined ? undefined : plainText(edge[3]), isCover: line.includes('style=dashed') }); continue; }
    const node = patterns.node.exec(line);
    if (node) here.nodes.push({ id: node[1], lines: plainText(node[2]).split('\n').filter(Boolean), isError: node[3].includes('color=red'), isCovered: node[3].includes('style=dashed') });
  }
  return graphs;
}

function statesPicture(item, text) {
  if (!text) return h('p', { class: 'none' }, 'There is none: the pass of intervals does not come here, or it took too long.');
  return readGraphs(text).map((graph) => {
    if (graph.nodes.length > MOST_STATES) return h('p', { class: 'none' }, `${graph.name}: ${number(graph.nodes.length)} states are too many to draw. proofline dump arg --dot writes them for Graphviz.`);
    for (const node of graph.nodes) {
      // `n3 f:l5`, then what is known there.
      const [point, ...known] = node.lines;
      node.shown = [{ text: point.replace(/^n\d+ /, ''), kind: 'name' }, ...known.flatMap((line) => line.split(/, (?![^[\]]*\])/)).map((line) => ({ text: cut(line, 44), full: line }))];
      const rest = node.shown.length - MOST_LINES;
      if (rest > 1) node.shown = [...node.shown.slice(0, MOST_LINES - 1), { text: `… ${rest + 1} more`, full: known.join(', ') }];
      node.w = Math.max(26, ...node.shown.map((line) => line.text.length * CHARACTER)) + 16;
      node.h = node.shown.length * LINE + 10;
    }
    const labels = [];
    const parts = [];
    for (const edge of graph.edges) {
      if (!edge.text) { parts.push(edge); continue; }
      const label = { id: `label ${labels.length}`, text: cut(edge.text, 40), full: edge.text, h: LINE + 2 };
      label.w = label.text.length * CHARACTER + 10;
      labels.push(label);
      parts.push({ from: edge.from, to: label.id, isHalf: true }, { from: label.id, to: edge.to });
    }
    const size = layout([...graph.nodes, ...labels], parts);
    const box = (node) => svg('g', {},
      svg('rect', { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: 5, class: ['block', 'state', node.isError && 'error', node.isCovered && 'covered'].filter(Boolean).join(' ') }),
      node.shown.map((line, at) => svg('text', { x: node.x - node.w / 2 + 8, y: node.y - node.h / 2 + 16 + at * LINE, class: line.kind ? `on ${line.kind}` : '' }, svg('title', {}, line.full ?? line.text), line.text)));
    return drawing([
      parts.map((edge) => edgeLine(edge, { ...(edge.isHalf ? { 'marker-end': undefined } : {}), ...(edge.isCover ? { 'stroke-dasharray': '4 3' } : {}) })), graph.nodes.map(box),
      labels.map((label) => svg('g', {}, svg('rect', { x: label.x - label.w / 2, y: label.y - label.h / 2, width: label.w, height: label.h, rx: 8, class: 'condition' }), svg('text', { x: label.x, y: label.y + 4, 'text-anchor': 'middle', class: 'condition' }, svg('title', {}, label.full), label.text))),
    ], size, `Abstract states of ${graph.name.trim().replace(/:$/, '')}: ${several(graph.nodes.length, 'state', 'states')}; red: a check may fail; dashed: covered by another`);
  });
}
