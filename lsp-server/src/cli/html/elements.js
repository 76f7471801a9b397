// Elements, and the small parts that several views are made of. Texts become text nodes, never markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''));
  return element;
}
// The children instead of those that were there.
function refill(element, ...children) {
  element.replaceChildren();
  return fill(element, {}, children);
}
const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const number = (value) => value.toLocaleString('en');
const several = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

// A text in which `…` is code.
function prose(text) {
  return text.split(/(`[^`]*`)/).map((piece) => (piece.length > 1 && piece.startsWith('`') ? h('code', {}, piece.slice(1, -1)) : piece));
}

function badge(verdict, text) {
  const { sign, word, title } = VERDICTS[verdict];
  return h('span', { class: `badge ${verdict}`, title }, h('span', { class: 'sign', 'aria-hidden': 'true' }, sign), text ?? word);
}
const sign = (verdict) => h('span', { class: `sign ${verdict}`, title: VERDICTS[verdict].word }, VERDICTS[verdict].sign);

// The sign of a function or file; where nothing was asked, nothing is called proved.
const signOf = (items) => { const found = worst(items); return found === undefined ? h('span', { class: 'sign none', title: 'nothing was asked here' }, '·') : sign(found); };
const letterOf = (items) => { const found = worst(items); return found === undefined ? '·' : VERDICTS[found].sign; };

const link = (hash, attributes, ...children) => h('a', { href: `#/${hash}`, ...attributes }, ...children);
const functionLink = (key, text) => {
  const known = functions.get(key);
  if (!known) return h('code', {}, text ?? key);
  return link(`function/${encodeURIComponent(key)}`, { class: 'code' }, text ?? known.name);
};
const placeLink = (place, text) =>
  place && byFile.has(place.file) ? link(`file/${encodeURIComponent(place.file)}/${place.line}`, { class: 'code' }, text ?? where(place)) : h('code', {}, text ?? where(place));
const findingLink = (finding, text) => link(`finding/${finding.number}`, {}, text);

// How many of each verdict, as a bar whose parts differ in pattern, too.
function bar(counts, wide) {
  const all = KINDS.reduce((sum, kind) => sum + counts[kind], 0);
  const shown = [...KINDS].reverse().filter((kind) => counts[kind] > 0);
  const label = shown.map((kind) => `${counts[kind]} ${VERDICTS[kind].word}`).join(', ');
  const pieces = shown.map((kind) => h('span', { class: `piece ${kind}`, style: `flex-grow:${Math.max(counts[kind], all / 60)}` }));
  return h('span', { class: wide ? 'stack wide' : 'stack', role: 'img', 'aria-label': label, title: label }, pieces);
}

function legend(counts, choose, chosen) {
  return h('div', { class: 'legend' }, KINDS.filter((kind) => counts[kind] > 0).map((kind) =>
    h('button', { class: `chip ${kind}`, title: VERDICTS[kind].title, 'aria-pressed': choose ? String(chosen.has(kind)) : undefined, onclick: () => choose?.(kind) },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, VERDICTS[kind].sign), h('b', {}, number(counts[kind])), ` ${VERDICTS[kind].word}`)));
}

// A table whose head sorts. Columns: { title, cell(row), key(row), numeric }.
const MOST_ROWS = 250;
function table(columns, rows, { name = 'rows', sort = 0, down = false } = {}) {
  const box = h('div', { class: 'table-box' });
  let by = sort;
  let isDown = down;
  let most = MOST_ROWS;
  const draw = () => {
    const key = columns[by].key;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const order = typeof x === 'number' ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
      return isDown ? -order : order;
    });
    const head = h('tr', {}, columns.map((column, at) =>
      h('th', { scope: 'col', class: column.numeric && 'numeric', 'aria-sort': at === by ? (isDown ? 'descending' : 'ascending') : 'none' },
        h('button', { onclick: () => { isDown = at === by ? !isDown : Boolean(column.numeric); by = at; draw(); } }, column.title, h('span', { 'aria-hidden': 'true', class: 'arrow' }, at === by ? (isDown ? ' ▾' : ' ▴') : '')))));
    const body = sorted.slice(0, most).map((row) => h('tr', {}, columns.map((column) => h('td', { class: column.numeric && 'numeric' }, column.cell(row)))));
    const rest = sorted.length - most;
    refill(box,
      h('table', {}, h('thead', {}, head), h('tbody', {}, body)),
      rest > 0 ? h('button', { class: 'more', onclick: () => { most += 2000; draw(); } }, `Show more (${number(rest)} ${name} are left)`) : '',
      rows.length === 0 ? h('p', { class: 'none' }, `No ${name}.`) : '',
    );
  };
  draw();
  return box;
}

// C with colours. `state` says whether a comment is open at the beginning of the line.
const WORDS = new Set('auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local bool true false NULL'.split(' '));
const TOKEN = /\/\/.*|\/\*|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\b\d[\w.]*|[A-Za-z_]\w*|^\s*#\s*\w+|[^\w"'/]+|\//g;
function tokens(line, state) {
  const out = [];
  let at = 0;
  const push = (end, kind) => { if (end > at) out.push([at, end, kind]); at = end; };
  const comment = () => {
    const end = line.indexOf('*/', at);
    state.open = end < 0;
    push(end < 0 ? line.length : end + 2, 'comment');
  };
  if (state.open) comment();
  while (at < line.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(line);
    if (!match) { push(line.length); break; }
    if (match.index > at) push(match.index);
    const text = match[0];
    if (text === '/*') comment();
    else if (text.startsWith('//')) push(line.length, 'comment');
    else if (text[0] === '"' || text[0] === "'") push(at + text.length, 'string');
    else if (/^\d/.test(text)) push(at + text.length, 'number');
    else if (/^\s*#/.test(text) && at === 0) push(at + text.length, 'directive');
    else push(at + text.length, WORDS.has(text) ? 'word' : undefined);
  }
  return out;
}

// A line as spans: colours of C, and marks [from, to, class, title] on top of them.
function codeLine(line, state, marks = []) {
  const pieces = tokens(line, state);
  const cuts = new Set([0, line.length]);
  for (const [from, to] of pieces) cuts.add(from).add(to);
  for (const [from, to] of marks) cuts.add(Math.min(from, line.length)).add(Math.min(to, line.length));
  const ends = [...cuts].sort((a, b) => a - b);
  const out = [];
  let piece = 0;
  for (let at = 0; at + 1 < ends.length; at++) {
    const [from, to] = [ends[at], ends[at + 1]];
    while (piece < pieces.length && pieces[piece][1] <= from) piece += 1;
    const kind = pieces[piece]?.[0] <= from ? pieces[piece]?.[2] : undefined;
    const on = marks.filter((mark) => mark[0] <= from && to <= mark[1]);
    const text = line.slice(from, to);
    if (!kind && on.length === 0) out.push(text);
    else out.push(h('span', { class: [kind && `c-${kind}`, ...on.map((mark) => mark[2])].filter(Boolean).join(' '), title: on.length > 0 ? on.map((mark) => mark[3]).join('\n') : undefined }, text));
  }
  return out;
}
