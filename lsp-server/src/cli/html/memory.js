// Memory at a step of a path: objects as boxes, pointers as arrows. The places come with the data.

function memoryPicture({ width, height, objects, arrows, more, text }) {
  const line = 18;
  const cell = (object) => (item) => [
    svg('rect', { x: object.x + 1, y: item.y, width: object.width - 2, height: line, class: item.isNew ? 'cell new' : 'cell' }),
    svg('text', { x: object.x + 8, y: item.y + 13, class: item.kind === 'more' ? 'more' : 'member' }, item.name),
    svg('text', { x: object.x + object.width - 8, y: item.y + 13, 'text-anchor': 'end', class: item.kind }, item.value),
  ];
  const box = (object) => svg('g', { class: `object ${object.kind}` },
    svg('rect', { x: object.x, y: object.y, width: object.width, height: object.height, rx: object.kind === 'variable' ? 10 : 4, class: 'frame' }),
    object.cells.map(cell(object)),
    svg('text', { x: object.x + 8, y: object.y + 15, class: 'title' }, object.title));
  const arrow = (item) => svg('path', { d: item.path, class: ['points', item.isNew && 'new', item.isDangling && 'dangling'].filter(Boolean).join(' '), 'marker-end': 'url(#tip)' });
  // As wide as there is room, but readable.
  const style = `max-width: ${width}px; min-width: ${Math.round(width * 0.7)}px`;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, style, role: 'img', 'aria-label': `Memory: ${text.join('; ')}` },
    svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: '7', refY: '4', markerWidth: '8', markerHeight: '8', markerUnits: 'userSpaceOnUse', orient: 'auto' }, svg('path', { d: 'M0,0L8,4L0,8z' }))),
    objects.map(box), arrows.map(arrow));
  return h('figure', { class: 'memory', tabindex: '0' }, h('figcaption', {}, 'Memory at this step', more ? h('span', { class: 'in' }, ` ${more}`) : ''), picture);
}
