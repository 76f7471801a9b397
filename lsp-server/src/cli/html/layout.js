// Layered drawing of directed graphs, from above to below, after Sugiyama, Tagawa and Toda: edges that close circles are turned round, nodes
// get layers by their longest paths, long edges go through bends in each layer, neighbours' middles order the layers, and places follow.
// Knows nodes { id, w, h } and edges { from, to } only; gives nodes x and y (their middles), and edges points.

const LAYER_GAP = 34;
const NODE_GAP = 22;

function layout(nodes, edges) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const links = edges.filter((edge) => byId.has(edge.from) && byId.has(edge.to));
  turn(nodes, links);
  const rank = ranks(nodes, links);
  const layers = bends(nodes, links, rank);
  order(layers);
  return place(layers, nodes, links);
}

// Marks edges that lead back to a node that is being visited.
function turn(nodes, edges) {
  const out = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) out.get(edge.from).push(edge);
  const state = new Map();
  for (const root of nodes) {
    if (state.has(root.id)) continue;
    const stack = [[root.id, 0]];
    state.set(root.id, 1);
    while (stack.length > 0) {
      const top = stack.at(-1);
      const edge = out.get(top[0])[top[1]];
      if (edge === undefined) { state.set(top[0], 2); stack.pop(); continue; }
      top[1] += 1;
      edge.isBack = state.get(edge.to) === 1;
      if (!state.has(edge.to)) { state.set(edge.to, 1); stack.push([edge.to, 0]); }
    }
  }
}

const ends = (edge) => (edge.isBack ? [edge.to, edge.from] : [edge.from, edge.to]);

function ranks(nodes, edges) {
  const rank = new Map(nodes.map((node) => [node.id, 0]));
  const open = new Map(nodes.map((node) => [node.id, 0]));
  const after = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) {
    const [from, to] = ends(edge);
    if (from === to) continue;
    after.get(from).push(to);
    open.set(to, open.get(to) + 1);
  }
  const ready = nodes.filter((node) => open.get(node.id) === 0).map((node) => node.id);
  while (ready.length > 0) {
    const id = ready.shift();
    for (const to of after.get(id)) {
      rank.set(to, Math.max(rank.get(to), rank.get(id) + 1));
      open.set(to, open.get(to) - 1);
      if (open.get(to) === 0) ready.push(to);
    }
  }
  return rank;
}

// Layers with bends where edges pass; each item knows its neighbours above and below.
function bends(nodes, edges, rank) {
  const layers = [];
  const item = (fields, at) => {
    const made = { above: [], below: [], ...fields };
    (layers[at] ??= []).push(made);
    return made;
  };
  const items = new Map(nodes.map((node) => [node.id, item({ node, w: node.w, h: node.h }, rank.get(node.id))]));
  for (const edge of edges) {
    const [from, to] = ends(edge);
    edge.bends = [];
    if (from === to) continue;
    let last = items.get(from);
    for (let at = rank.get(from) + 1; at <= rank.get(to); at++) {
      const next = at === rank.get(to) ? items.get(to) : item({ w: 10, h: 0 }, at);
      last.below.push(next);
      next.above.push(last);
      if (!next.node) edge.bends.push(next);
      last = next;
    }
  }
  return layers.map((layer) => layer ?? []);
}

function order(layers) {
  const number = (layer) => layer.forEach((item, at) => { item.at = at; });
  layers.forEach(number);
  const middle = (item, side) => {
    const at = item[side].map((other) => other.at).sort((a, b) => a - b);
    return at.length === 0 ? item.at : (at[(at.length - 1) >> 1] + at[at.length >> 1]) / 2;
  };
  const sweep = (layer, side) => {
    const keyed = layer.map((item) => [middle(item, side), item.at, item]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    keyed.forEach(([, , item], at) => { layer[at] = item; });
    number(layer);
  };
  for (let round = 0; round < 8; round++) {
    for (let at = 1; at < layers.length; at++) sweep(layers[at], 'above');
    for (let at = layers.length - 2; at >= 0; at--) sweep(layers[at], 'below');
  }
}

function place(layers, nodes, edges) {
  let y = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((item) => item.h));
    let x = 0;
    for (const item of layer) {
      item.x = x + item.w / 2;
      item.y = y + height / 2;
      x += item.w + NODE_GAP;
    }
    y += height + LAYER_GAP;
  }
  // Towards the middle of neighbours, as far as those beside it allow.
  const pull = (layer, sides) => {
    const wish = layer.map((item) => {
      const near = sides.flatMap((side) => item[side]);
      return near.length === 0 ? item.x : near.reduce((sum, other) => sum + other.x, 0) / near.length;
    });
    // Groups that touch move as one: the mean of their wishes.
    const groups = [];
    layer.forEach((item, at) => {
      let group = { items: [item], offsets: [0], sum: wish[at], width: 0 };
      for (;;) {
        const before = groups.at(-1);
        if (!before) break;
        const last = before.items.at(-1);
        const gap = (last.w + group.items[0].w) / 2 + NODE_GAP;
        const start = before.sum / before.items.length;
        const own = group.sum / group.items.length;
        if (start + before.offsets.at(-1) + gap <= own) break;
        const shift = before.offsets.at(-1) + gap;
        groups.pop();
        group = { items: [...before.items, ...group.items], offsets: [...before.offsets, ...group.offsets.map((offset) => offset + shift)], sum: before.sum + group.sum - shift * group.items.length };
      }
      groups.push(group);
    });
    for (const group of groups) {
      const start = group.sum / group.items.length;
      group.items.forEach((item, at) => { item.x = start + group.offsets[at]; });
    }
  };
  for (let round = 0; round < 6; round++) {
    for (let at = 1; at < layers.length; at++) pull(layers[at], ['above']);
    for (let at = layers.length - 2; at >= 0; at--) pull(layers[at], round < 5 ? ['below'] : ['above', 'below']);
  }
  const all = layers.flat();
  const left = Math.min(0, ...all.map((item) => item.x - item.w / 2));
  for (const item of all) {
    item.x -= left;
    if (item.node) { item.node.x = item.x; item.node.y = item.y; }
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const edge of edges) {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
    const [top, bottom] = edge.isBack ? [to, from] : [from, to];
    const points = from === to
      ? [[from.x + from.w / 2, from.y - 6], [from.x + from.w / 2 + 26, from.y - 10], [from.x + from.w / 2 + 26, from.y + 10], [from.x + from.w / 2, from.y + 6]]
      : [[top.x, top.y + top.h / 2], ...edge.bends.map((bend) => [bend.x, bend.y]), [bottom.x, bottom.y - bottom.h / 2]];
    edge.points = edge.isBack && from !== to ? points.reverse() : points;
  }
  const width = Math.max(0, ...all.map((item) => item.x + item.w / 2)) + 40;
  return { width, height: Math.max(0, y - LAYER_GAP) };
}

// A path through points that is smooth in the vertical direction.
function curve(points) {
  let out = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
  for (let at = 1; at < points.length; at++) {
    const [[x0, y0], [x1, y1]] = [points[at - 1], points[at]];
    const middle = (y0 + y1) / 2;
    out += `C${x0.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${y1.toFixed(1)}`;
  }
  return out;
}
