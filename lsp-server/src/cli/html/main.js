// Which view is shown, the bar above it, keys, search and colours.

let bound = {};
let afterwards = [];
// What keys do in the view that is shown.
function keys(all) { bound = all; }
// What is done once a view is in the document.
function later(action) { afterwards.push(action); }

const THEMES = ['auto', 'light', 'dark'];
function remembered() {
  try { return localStorage.getItem('proofline-theme') ?? 'auto'; } catch { return 'auto'; }
}
function theme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try { localStorage.setItem('proofline-theme', name); } catch { /* a page from the disk may not be allowed to */ }
  themeButton.textContent = { auto: '◐', light: '☀', dark: '☾' }[name];
  themeButton.title = `Colours: ${name} (t)`;
}
const themeButton = h('button', { class: 'button', 'aria-label': 'Colours', onclick: () => nextTheme() });
const nextTheme = () => theme(THEMES[(THEMES.indexOf(remembered()) + 1) % THEMES.length]);

const search = h('input', { type: 'search', id: 'search', placeholder: 'Search  /', 'aria-label': 'Search functions, files, findings', autocomplete: 'off' });
const hits = h('div', { class: 'hits', hidden: true });
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  hits.hidden = words.length === 0;
  if (words.length === 0) return;
  const found = [
    ...findings.filter((finding) => has(`${finding.title} ${finding.check} ${finding.function} ${where(finding.place)}`)).slice(0, 8).map((finding) => findingLink(finding, [sign(finding.verdict), ' ', finding.title, h('span', { class: 'in' }, ` ${where(finding.place)}`)])),
    ...[...functions.values()].filter((item) => has(item.key)).sort((a, b) => a.name.length - b.name.length).slice(0, 10).map((item) => functionLink(item.key, [signOf(item.obligations), ' ', item.name, h('span', { class: 'in' }, ` ${where(item.place)}`)])),
    ...[...byFile.keys()].filter((path) => has(path)).slice(0, 6).map((path) => link(`file/${encodeURIComponent(path)}`, { class: 'code' }, shortPath(path))),
    link(`places/all/${encodeURIComponent(search.value)}`, {}, `All places with “${search.value}”`),
  ];
  refill(hits, found);
});
search.addEventListener('keydown', (event) => {
  const all = [...hits.querySelectorAll('a')];
  if (event.key === 'Enter' && all.length > 0) { all[0].click(); event.preventDefault(); }
  if (event.key === 'ArrowDown' && all.length > 0) { all[0].focus(); event.preventDefault(); }
});
hits.addEventListener('keydown', (event) => {
  const all = [...hits.querySelectorAll('a')];
  const at = all.indexOf(document.activeElement);
  if (event.key === 'ArrowDown') all[Math.min(at + 1, all.length - 1)]?.focus();
  else if (event.key === 'ArrowUp') (at > 0 ? all[at - 1] : search).focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

function closeSearch() {
  hits.hidden = true;
  search.value = '';
  search.blur();
}

function findingsView() {
  const box = (title, kind, lead) => {
    const own = findings.filter((finding) => finding.verdict === kind);
    const groups = kind === 'callers' ? demandsTogether(own) : own.map((finding) => [finding]);
    return own.length > 0 ? h('section', {}, h('h2', {}, title), h('p', { class: 'lead' }, lead), h('div', { class: 'cards' }, groups.slice(0, 200).map(groupCard)), groups.length > 200 ? h('p', { class: 'hint' }, `${number(groups.length - 200)} more are in the tables.`) : '') : '';
  };
  return [h('h1', {}, findings.length === 0 ? 'No findings' : several(findings.length, 'finding', 'findings')), box('What is wrong', 'violated', 'No caller can prevent these.'), box('What callers must see to', 'callers', 'These fail for arguments that nothing in the program passes, but somebody could.')];
}

function placesView(kind, words) {
  const items = KINDS.includes(kind) ? obligations.filter((item) => item.verdict === kind) : obligations;
  const list = obligationList(items);
  if (words) later(() => { const input = list.querySelector('input'); input.value = words; input.dispatchEvent(new Event('input')); });
  return [h('h1', {}, KINDS.includes(kind) ? [sign(kind), ` ${VERDICTS[kind].word}`] : 'All places where a check applies'), h('p', { class: 'lead' }, KINDS.includes(kind) ? VERDICTS[kind].title : ''), list];
}

// What proofs rest on.
function assumptionsView() {
  const all = [...new Set(results.flatMap((result) => result.rests_on))];
  const before = all.filter((text) => text.endsWith(', not proved)'));
  const rest = all.filter((text) => !text.endsWith(', not proved)'));
  const resting = [...functions.values()].filter((item) => item.program.results.some((result) => result.proved_if_nothing_fails_before.includes(item.name)));
  const under = [...functions.values()].filter((item) => item.program.results.some((result) => result.contracts[item.name]));
  const list = (items) => h('ul', { class: 'rests' }, items.map((text) => h('li', {}, prose(text))));
  return [
    h('h1', {}, 'What proofs rest on'),
    h('p', { class: 'lead' }, 'A proof speaks of the executions of the C text as Proofline reads it. Besides, it rests on what is listed here.'),
    all.length === 0 ? h('p', {}, 'Nothing else.') : '',
    rest.length > 0 ? h('section', {}, h('h2', {}, 'Assumed'), list(rest)) : '',
    before.length > 0 ? h('section', {}, h('h2', {}, 'Not proved, and before something that is'), h('p', {}, 'What comes behind these is proved of executions on which they hold. ', several(resting.length, 'function has', 'functions have'), ' something proved so.'),
      h('details', { open: before.length <= 15 }, h('summary', {}, several(before.length, 'condition', 'conditions')), list(before)), resting.length > 0 ? h('details', {}, h('summary', {}, several(resting.length, 'function', 'functions')), h('p', {}, resting.map((item, at) => [at > 0 ? ', ' : '', functionLink(item.key)]))) : '') : '',
    under.length > 0 ? h('section', {}, h('h2', {}, 'Contracts'), h('p', {}, 'These functions are proved, if their callers keep what they ask for.'), table([
      { title: 'function', key: (row) => row.name, cell: (row) => functionLink(row.key) },
      { title: 'callers pass', key: (row) => row.name, cell: (row) => h('ul', {}, contractOf(row).callers_pass.map((text) => h('li', {}, prose(text)))) },
      { title: 'callers', key: (row) => String(contractOf(row).all_callers_are_seen), cell: (row) => (contractOf(row).all_callers_are_seen ? 'all are seen' : 'others, too') },
    ], under, { name: 'functions' })) : '',
  ];
}
const contractOf = (item) => item.program.results.map((result) => result.contracts[item.name]).find(Boolean);

// Who decided what, and what it took.
function enginesView() {
  const total = new Map();
  for (const result of results) for (const engine of result.engines) {
    const known = total.get(engine.name) ?? { name: engine.name, decided: 0, questions: 0, seconds: 0 };
    total.set(engine.name, { name: engine.name, decided: known.decided + engine.decided, questions: known.questions + engine.questions, seconds: known.seconds + engine.seconds });
  }
  for (const engine of total.values()) engine.proved = obligations.filter((item) => item.by === engine.name).length;
  const rows = [...total.values()];
  for (const name of new Set(obligations.map((item) => item.by).filter(Boolean))) if (!total.has(name)) rows.push({ name, decided: 0, questions: 0, seconds: 0, proved: obligations.filter((item) => item.by === name).length });
  const most = Math.max(...rows.map((row) => row.seconds), 0.001);
  const seconds = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} s`;
  return [
    h('h1', {}, 'Who decided what'),
    h('p', { class: 'lead' }, `Engines took ${seconds(rows.reduce((sum, row) => sum + row.seconds, 0))} in this run, on all threads together. What was known from an earlier run took nothing.`),
    table([
      { title: 'engine', key: (row) => row.name, cell: (row) => h('code', {}, row.name) },
      { title: 'places proved', numeric: true, key: (row) => row.proved, cell: (row) => number(row.proved) },
      { title: 'answers', numeric: true, key: (row) => row.decided, cell: (row) => number(row.decided) },
      { title: 'questions', numeric: true, key: (row) => row.questions, cell: (row) => number(row.questions) },
      { title: 'time', numeric: true, key: (row) => row.seconds, cell: (row) => [h('span', { class: 'time', style: `width:${(100 * row.seconds) / most}px` }), ` ${seconds(row.seconds)}`] },
    ], rows, { name: 'engines', sort: 4, down: true }),
    h('h2', {}, 'What was asked'),
    data.programs.map((program) => program.results.map((result) => h('p', {}, program.name ? [h('code', {}, program.name), ': '] : '', h('code', {}, result.property), ' → ', h('b', {}, result.result), h('br'), h('span', { class: 'hint' }, `Checks: ${result.checks.join(', ')}.`)))),
    h('p', { class: 'hint' }, `Proofline ${data.version}`),
  ];
}

const VIEWS = {
  '': () => overview(),
  findings: () => findingsView(),
  finding: (which, step) => findingView(Number(which), step ? Number(step) - 1 : undefined),
  file: (path, line) => fileView(path, line ? Number(line) : undefined),
  function: (key) => functionView(key),
  check: (check) => checkView(check),
  places: (kind, words) => placesView(kind, words),
  calls: () => callsView(),
  assumptions: () => assumptionsView(),
  engines: () => enginesView(),
};

let shownView = 0;
async function route() {
  const own = ++shownView;
  const words = location.hash.replace(/^#\/?/, '').split('/').map((word) => { try { return decodeURIComponent(word); } catch { return word; } });
  bound = {};
  afterwards = [];
  closeSearch();
  const view = Object.hasOwn(VIEWS, words[0]) ? VIEWS[words[0]] : VIEWS[''];
  let content;
  try { content = await view(...words.slice(1)); } catch (error) { content = [h('h1', {}, 'This cannot be shown'), h('p', {}, String(error.message ?? error))]; }
  if (own !== shownView) return;
  const main = document.getElementById('main');
  main.className = `view-${words[0] || 'overview'}`;
  refill(main, content);
  scrollTo(0, 0);
  for (const action of afterwards) action();
  for (const tab of document.querySelectorAll('#bar nav a')) {
    const target = tab.getAttribute('href').slice(2);
    const isCurrent = target === words[0] || (target === 'findings' && words[0] === 'finding');
    if (isCurrent) tab.setAttribute('aria-current', 'page'); else tab.removeAttribute('aria-current');
  }
  document.title = `${main.querySelector('h1')?.textContent ?? 'Report'} – Proofline`;
}

const HELP = [['/', 'search'], ['j ↓ →', 'next step'], ['k ↑ ←', 'step back'], ['o', 'over a call'], ['u', 'out of the call'], ['Home End', 'first step, failure'], ['n p', 'next and previous finding, or line that is not proved'], ['g', 'overview'], ['t', 'colours'], ['?', 'these keys'], ['Esc', 'back']];
const dialog = document.getElementById('keys');
dialog.append(h('h2', {}, 'Keys'), h('table', {}, HELP.map(([key, what]) => h('tr', {}, h('td', {}, key.split(' ').map((one) => [h('kbd', {}, one), ' '])), h('td', {}, what)))), h('form', { method: 'dialog' }, h('button', { class: 'button' }, 'Close')));

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.key === 'Escape') {
    if (!hits.hidden || document.activeElement === search) { closeSearch(); return; }
    if (location.hash.length > 2) history.back();
    return;
  }
  if (event.target.matches('input, select, textarea')) return;
  const action = { '/': () => search.focus(), '?': () => dialog.showModal(), t: nextTheme, g: () => { location.hash = '#/'; }, ...bound }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
document.addEventListener('click', (event) => { if (!event.target.closest('.searching')) hits.hidden = true; });

const tab = (target, text) => h('a', { href: `#/${target}` }, text);
document.getElementById('bar').append(
  h('a', { href: '#/', class: 'brand' }, h('b', {}, 'Proofline'), h('span', {}, data.programs.length === 1 ? data.programs[0].name || shortPath([...byFile.values()].sort((a, b) => b.obligations.length - a.obligations.length)[0]?.path ?? '') : several(data.programs.length, 'program', 'programs'))),
  h('nav', { 'aria-label': 'Views' }, tab('', 'Overview'), tab('findings', `Findings (${findings.length})`), tab('places/all', 'Places'), tab('calls', 'Calls'), tab('assumptions', 'Assumptions'), tab('engines', 'Engines')),
  h('span', { class: 'spacer' }), h('div', { class: 'searching' }, search, hits), themeButton, h('button', { class: 'button', 'aria-label': 'Keys', title: 'Keys (?)', onclick: () => dialog.showModal() }, '?'));
document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); document.getElementById('main').focus(); });
theme(THEMES.includes(remembered()) ? remembered() : 'auto');
addEventListener('hashchange', route);
route();
