// A file with verdicts at its lines.

const CHUNK = 400;

// The worst obligation of each line, with all that are there.
function byLine(file) {
  const lines = new Map();
  const at = (line) => { if (!lines.has(line)) lines.set(line, { obligations: [], findings: [], notes: [] }); return lines.get(line); };
  for (const item of file.obligations) at(item.place.line).obligations.push(item);
  for (const item of file.findings) at(item.place.line).findings.push(item);
  for (const item of file.loops) at(item.line).notes.push(['loop', h('span', {}, 'each time: ', h('code', {}, item.invariant))]);
  for (const item of file.problems) at(item.place.line).notes.push(['problem', h('span', {}, prose(item.message))]);
  return lines;
}

function marksOf(here, line, own) {
  const shown = here.obligations.filter((item) => item.verdict !== 'proved' && item.verdict !== 'kept');
  return shown.map((item) => [
    column(own, item.place.column - 1),
    item.place.end_line === line ? Math.max(column(own, item.place.end_column - 1), column(own, item.place.column - 1) + 1) : own.length,
    `mark ${item.verdict}`, `${VERDICTS[item.verdict].word}: ${item.condition}`,
  ]);
}

// The rows of a source text. Beside a path, what is known of functions and loops is left out: values stand there.
class SourceText {
  constructor(file, text, { isPath = false } = {}) {
    this.file = file;
    this.lines = text.split('\n');
    if (this.lines.at(-1) === '') this.lines.pop();
    this.known = byLine(file);
    this.isPath = isPath;
    this.rows = new Map();
    this.states = [{ open: false }];
    this.element = h('div', { class: 'source', style: `--digits:${String(this.lines.length).length}ch` });
    this.definitions = new Map(file.functions.map((item) => [item.place.line, item]));
    this.chunks = [];
    const observer = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && this.draw(Number(entry.target.dataset.chunk))), { rootMargin: '1200px' });
    for (let from = 0; from < this.lines.length; from += CHUNK) {
      const size = Math.min(CHUNK, this.lines.length - from);
      const chunk = h('div', { class: 'chunk', 'data-chunk': this.chunks.length, style: `min-height:calc(var(--line) * ${size})` });
      this.chunks.push({ element: chunk, from, size, isDrawn: false });
      this.element.append(chunk);
      observer.observe(chunk);
    }
    if (this.chunks.length <= 4) this.drawAll();
    else addEventListener('beforeprint', () => this.element.isConnected && this.drawAll());
  }

  drawAll() {
    this.chunks.forEach((_, at) => this.draw(at));
  }

  // Whether a comment is open at the beginning of a chunk hangs on all before.
  stateAt(at) {
    for (let chunk = this.states.length; chunk <= at; chunk++) {
      const state = { ...this.states[chunk - 1] };
      const { from, size } = this.chunks[chunk - 1];
      for (let line = from; line < from + size; line++) tokens(this.lines[line], state);
      this.states.push(state);
    }
    return { ...this.states[at] };
  }

  draw(at) {
    const chunk = this.chunks[at];
    if (!chunk || chunk.isDrawn) return;
    chunk.isDrawn = true;
    const state = this.stateAt(at);
    for (let index = chunk.from; index < chunk.from + chunk.size; index++) chunk.element.append(this.row(index + 1, state));
    chunk.element.style.minHeight = '';
  }

  row(line, state) {
    const own = this.lines[line - 1].replace(/\r$/, '');
    const here = this.known.get(line);
    const kind = here && worst([...here.findings, ...here.obligations]);
    const gutter = kind
      ? h('button', { class: `gutter ${kind}`, title: `${VERDICTS[kind].word} (${here.obligations.length})`, 'aria-label': `line ${line}: ${VERDICTS[kind].word}`, onclick: () => this.toggle(line) }, VERDICTS[kind].sign)
      : h('span', { class: 'gutter' });
    const behind = (this.isPath ? [] : here?.notes ?? []).map(([type, text]) => h('span', { class: `note ${type}` }, text));
    const definition = this.definitions.get(line);
    if (definition && !this.isPath) behind.unshift(h('span', { class: 'note function' }, signOf(definition.obligations), ' ', functionLink(definition.key, `${definition.name}: ${phrase(definition.obligations)}`)));
    const row = h('div', { class: `row${kind ? ` has-${kind}` : ''}`, 'data-line': line },
      h('span', { class: 'number' }, String(line)), gutter,
      h('span', { class: 'text' }, codeLine(own, state, here ? marksOf(here, line, own) : [])), behind);
    this.rows.set(line, row);
    return row;
  }

  // All that is known of a line, below it.
  toggle(line) {
    const row = this.rows.get(line);
    const next = row.nextElementSibling;
    if (next?.classList.contains('peek')) { next.remove(); return; }
    const here = this.known.get(line);
    const items = [...here.obligations].sort((a, b) => KINDS.indexOf(a.verdict) - KINDS.indexOf(b.verdict));
    row.after(h('div', { class: 'peek' },
      here.findings.map((finding) => h('p', {}, sign(finding.verdict), ' ', findingLink(finding, ['Step through: ', prose(finding.title)]))),
      h('ul', {}, items.map((item) => h('li', {}, badge(item.verdict), ' ', h('code', {}, item.condition), ' ', h('span', { class: 'tag' }, item.check), ' ',
        h('span', { class: 'reason' }, prose(item.reason ?? (item.by ? `by ${item.by}` : ''))))))));
  }

  // Brings a line into view.
  show(line, behavior = 'auto') {
    const at = Math.floor((line - 1) / CHUNK);
    for (const near of [at - 1, at, at + 1]) this.draw(near);
    const row = this.rows.get(line);
    if (!row) return undefined;
    const box = this.element.closest('.scroll');
    if (box) {
      const offset = row.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
      box.scrollTo({ top: Math.max(0, offset - box.clientHeight / 3), behavior });
    } else row.scrollIntoView({ block: 'center', behavior });
    return row;
  }
}

function phrase(items) {
  const counts = count(items);
  const shown = KINDS.filter((kind) => counts[kind] > 0);
  return shown.length === 0 ? 'nothing was asked here' : shown.map((kind) => `${number(counts[kind])} ${VERDICTS[kind].word}`).join(', ');
}

async function fileView(path, line) {
  const file = byFile.get(path);
  if (!file) return [h('h1', {}, 'No such file'), h('p', {}, h('code', {}, path))];
  const text = new SourceText(file, await part(file.part));
  const wanted = KINDS.filter((kind) => kind !== 'proved' && kind !== 'kept');
  const stops = [...text.known].filter(([, here]) => wanted.includes(worst([...here.findings, ...here.obligations]))).map(([at]) => at).sort((a, b) => a - b);
  let current = line ?? 0;
  const go = (direction) => {
    const next = direction > 0 ? stops.find((at) => at > current) ?? stops[0] : stops.findLast((at) => at < current) ?? stops.at(-1);
    if (next === undefined) return;
    current = next;
    flash(text.show(current, 'smooth'));
  };
  keys({ n: () => go(1), p: () => go(-1) });
  const names = h('select', { 'aria-label': 'Go to a function', onchange: (event) => { flash(text.show(Number(event.target.value))); } },
    h('option', { value: '1' }, 'Go to a function …'),
    [...file.functions].sort((a, b) => a.place.line - b.place.line).map((item) => h('option', { value: String(item.place.line) }, `${letterOf(item.obligations)} ${item.name}`)));
  if (line) later(() => flash(text.show(line)));
  const counts = count(file.obligations);
  return [
    h('h1', { class: 'path' }, h('code', {}, shortPath(path))),
    h('div', { class: 'tools' }, legend(counts, (chosen) => { location.hash = `#/places/${chosen}/${encodeURIComponent(shortPath(path))}`; }, new Set()), names,
      stops.length > 0 ? h('span', {}, h('button', { class: 'button', onclick: () => go(-1), title: 'key p' }, '↑'), ' ', h('button', { class: 'button', onclick: () => go(1), title: 'key n' }, '↓'), ` ${several(stops.length, 'line is', 'lines are')} not proved`) : ''),
    text.element,
  ];
}

function flash(row) {
  if (!row) return;
  row.classList.remove('flash');
  void row.offsetWidth;
  row.classList.add('flash');
}
