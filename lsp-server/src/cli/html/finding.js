// One finding: its path step by step, with the values at each step.

async function findingView(which, wanted) {
  const finding = findings[which];
  if (!finding) return [h('h1', {}, 'No such finding')];
  const steps = finding.steps;
  // Files by name: the path may go through several.
  const texts = new Map();
  const pictures = finding.pictures === undefined ? [] : await part(finding.pictures);
  for (const path of new Set(steps.map((step) => step.place?.file).filter((file) => byFile.has(file)))) texts.set(path, await part(byFile.get(path).part));
  let current = Math.min(Math.max(0, wanted ?? 0), steps.length - 1);
  const sources = new Map();
  const source = h('div', { class: 'scroll path-source', tabindex: '0', 'aria-label': 'Source' });
  const title = h('div', { class: 'file-title' });
  const values = h('div', { class: 'values', 'aria-live': 'polite' });
  const memory = h('div', { class: 'memory-box' });
  const rows = steps.map((step, at) => h('li', {}, h('button', { class: `step ${step.kind}`, style: `--depth:${Math.min(step.depth, 12)}`, onclick: () => go(at) },
    h('span', { class: 'at' }, String(at + 1)), h('span', { class: 'icon', title: step.kind, 'aria-label': step.kind }, step.left_out > 0 ? '⋮' : ICONS[step.kind]), h('span', { class: 'what' }, step.left_out > 0 ? `${several(step.left_out, 'step is', 'steps are')} left out` : prose(step.text)), h('span', { class: 'line' }, step.place ? `:${step.place.line}` : ''))));
  const list = h('ol', { class: 'steps' }, rows);
  const listBox = h('div', { class: 'scroll step-list', tabindex: '0', 'aria-label': 'Steps' }, list);
  const counter = h('span', { class: 'counter' });

  function shown(path) {
    if (!sources.has(path)) sources.set(path, new SourceText(byFile.get(path), texts.get(path), { isPath: true }));
    return sources.get(path);
  }
  let painted = [];
  function paint() {
    for (const undo of painted) undo();
    painted = [];
    const step = steps[current];
    rows.forEach((row, at) => { row.classList.toggle('current', at === current); row.classList.toggle('past', at < current); });
    const own = rows[current];
    const offset = own.offsetTop - listBox.offsetTop;
    if (offset < listBox.scrollTop || offset + own.offsetHeight > listBox.scrollTop + listBox.clientHeight) listBox.scrollTop = offset - listBox.clientHeight / 2;
    const { place } = step;
    if (place && texts.has(place.file)) {
      const text = shown(place.file);
      if (source.firstChild !== text.element) source.replaceChildren(text.element);
      refill(title, placeLink(place), step.function ? [' in ', functionLink(keyOf(finding.program, step.function), step.function)] : '');
      const row = text.show(place.line);
      if (row) {
        const kind = current === steps.length - 1 ? 'here failing' : 'here';
        row.classList.add(...kind.split(' '));
        const note = h('span', { class: `note said ${step.kind}` }, step.left_out > 0 ? '…' : prose(step.text));
        row.append(note);
        painted.push(() => { row.classList.remove('here', 'failing'); note.remove(); });
      }
      // Lines that the path has gone through, and the last value that each gave.
      for (let at = 0; at < current; at++) {
        const before = steps[at];
        if (before.place?.file !== place.file || before.left_out > 0) continue;
        const line = text.rows.get(before.place.line);
        if (!line) continue;
        line.classList.add('passed');
        painted.push(() => line.classList.remove('passed'));
        const isLast = !steps.slice(at + 1, current + 1).some((other) => other.place?.line === before.place.line && other.place.file === place.file && other.change?.name === before.change?.name);
        if (before.change && isLast && before.place.line !== place.line) {
          const note = h('span', { class: 'note value' }, `${before.change.name} = ${before.change.value}`);
          line.append(note);
          painted.push(() => note.remove());
        }
      }
    } else {
      refill(source, h('p', { class: 'none' }, 'This step has no place in the text.'));
      refill(title);
    }
    counter.textContent = `${current + 1} of ${steps.length}`;
    refill(values, stateView(finding, current));
    const shownMemory = pictures[step.picture];
    memory.hidden = shownMemory === undefined;
    refill(memory, shownMemory && memoryPicture(shownMemory));
  }
  function go(at, keep) {
    current = Math.min(Math.max(0, at), steps.length - 1);
    if (!keep) history.replaceState(null, '', `#/finding/${finding.number}/${current + 1}`);
    paint();
  }
  const other = (direction) => { const next = findings[(finding.number + direction + findings.length) % findings.length]; location.hash = `#/finding/${next.number}`; };
  const next = () => go(current + 1);
  const back = () => go(current - 1);
  // Over a call, and out of one.
  const over = () => { const { depth } = steps[current]; const at = steps.findIndex((step, index) => index > current && step.depth <= depth); go(at < 0 ? steps.length - 1 : at); };
  const out = () => { const { depth } = steps[current]; const at = steps.findIndex((step, index) => index > current && step.depth < depth); go(at < 0 ? steps.length - 1 : at); };
  keys({ j: next, k: back, ArrowDown: next, ArrowUp: back, ArrowRight: next, ArrowLeft: back, Home: () => go(0), End: () => go(steps.length - 1), o: over, u: out, n: () => other(1), p: () => other(-1) });
  later(() => go(current, true));
  const inputs = steps.filter((step) => step.kind === 'input');
  return [
    h('div', { class: `finding-head ${finding.verdict}` },
      h('h1', {}, sign(finding.verdict), ' ', prose(finding.title)),
      h('p', {}, placeLink(finding.place), ' in ', functionLink(keyOf(finding.program, finding.function), finding.function), ' ', link(`check/${finding.check}`, { class: 'tag' }, finding.check),
        Object.entries(finding.values).length > 0 ? [' when ', Object.entries(finding.values).map(([name, value], at) => [at > 0 ? ', ' : '', h('code', {}, `${name} = ${value}`)])] : ''),
      h('p', {}, demandOf(finding) ?? '', ' ', h('span', { class: 'help' }, finding.help))),
    h('div', { class: 'controls' },
      h('button', { class: 'button', onclick: () => go(0), title: 'first step (Home)', 'aria-label': 'first step' }, '⇤'),
      h('button', { class: 'button', onclick: back, title: 'back (k, ↑)', 'aria-label': 'step back' }, '◀'),
      h('button', { class: 'button', onclick: next, title: 'next (j, ↓)', 'aria-label': 'next step' }, '▶'),
      h('button', { class: 'button', onclick: () => go(steps.length - 1), title: 'the failure (End)', 'aria-label': 'the failure' }, '⇥'),
      counter, h('span', { class: 'spacer' }), inputs.length > 0 ? h('span', { class: 'hint' }, several(inputs.length, 'input', 'inputs')) : '',
      findings.length > 1 ? [h('button', { class: 'button', onclick: () => other(-1), title: 'previous finding (p)' }, '‹ finding'), h('button', { class: 'button', onclick: () => other(1), title: 'next finding (n)' }, 'finding ›')] : ''),
    h('div', { class: 'walk' }, listBox, h('div', { class: 'pane' }, title, source, memory), values),
  ];
}

const ICONS = { input: '→', assign: '=', branch: '?', call: '↳', return: '↲', failure: '✗' };

// What is known at a step: the open calls with their values, memory, objects.
function stateView(finding, at) {
  const { frames, memory, objects, given, gap } = stateAt(finding, at);
  const value = (item) => h('tr', { class: item.step === at ? 'new' : item.step < gap ? 'old' : '' },
    h('th', { scope: 'row' }, item.name, item.function ? h('span', { class: 'in' }, ` in ${item.function}`) : ''),
    h('td', {}, item.value), h('td', { class: 'since' }, `${item.step + 1}`));
  const group = (title, items, none) => [h('h2', {}, title), items.length > 0 ? h('table', { class: 'state' }, h('tbody', {}, items.map(value))) : h('p', { class: 'hint' }, none)];
  const open = frames.map((frame, depth) => ({ ...frame, depth })).reverse();
  return [
    gap >= 0 ? h('p', { class: 'hint' }, 'Values from before the steps that are left out are grey: they may have changed.') : '',
    open.map((frame, index) => group([h('code', {}, frame.function || '…'), index > 0 ? h('span', { class: 'in' }, ' (waits)') : ''], [...frame.values.values()], 'no values yet')),
    memory.size > 0 ? group('Memory and globals, as last written', [...memory.values()], '') : '',
    objects.size > 0 ? [h('h2', {}, 'Objects of the heap'), h('table', { class: 'state' }, h('tbody', {}, [...objects.values()].map((item) => h('tr', { class: item.freed === at || item.made === at ? 'new' : '' },
      h('th', { scope: 'row' }, item.name), h('td', {}, item.size === undefined ? '' : several(item.size, 'byte', 'bytes'), item.freed === undefined ? '' : h('b', { class: 'freed' }, ' freed')), h('td', { class: 'since' }, `${(item.freed ?? item.made) + 1}`)))))] : '',
    given.length > 0 ? [h('h2', {}, 'Given from outside'), h('table', { class: 'state' }, h('tbody', {}, given.map((item) => h('tr', { class: item.step === at ? 'new' : '' }, h('th', { scope: 'row' }, prose(item.text)), h('td', { class: 'since' }, `${item.step + 1}`)))))] : '',
    h('p', { class: 'hint' }, 'The small number is the step that gave the value.'),
  ];
}
