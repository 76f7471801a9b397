// What VS Code shows, checked in the real program. Usage: node checks.mjs URL FOLDER PICTURES
// Each check starts from an open, unchanged average.c and leaves it so; a failed one is tried once more after a reload.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { faults } from '../accessibility.mjs';
import { Window } from './window.mjs';

const [url, folder, pictures] = process.argv.slice(2);
const original = Object.fromEntries(['average.c', 'table.c', 'limit.h', 'slow.c', 'list.c'].map((f) => [f, readFileSync(path.join(folder, f), 'utf8')]));
const w = await Window.open(url, pictures);
const { page } = w;
/** Where the path begins in average.c. */
const FIRST_STEP = 15;

/** The file as it was, open, with its verdict. */
async function fresh() {
  await w.key('Escape', 'Escape');
  await w.command('View: Close All Editors').catch(() => undefined);
  // Nothing typed by a check before is kept.
  const discard = page.locator('.monaco-dialog-box .monaco-button', { hasText: "Don't Save" });
  if (await discard.isVisible().catch(() => false)) await discard.click();
  if (await page.locator('.part.panel').isVisible()) await w.key('Control+j');
  for (const [file, text] of Object.entries(original)) writeFileSync(path.join(folder, file), text);
  await w.go('average.c');
  await page.locator('.view-lines', { hasText: 'careful' }).first().waitFor();
  await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
}

/** Undoes what a check typed. */
async function revert(file = 'average.c') {
  await w.go(file);
  await w.command('File: Revert File');
}

async function openTrace() {
  await w.go('average.c:11:13');
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget', { hasText: 'Show counterexample trace' }).waitFor();
  await page.waitForTimeout(300);
}

async function showTrace() {
  await w.go('average.c:11:13');
  await w.command('Proofline: Show Counterexample Trace');
  await w.until('steps in the tree', () => w.rows('.pane-body'), (rows) => rows.length > 4);
  await w.until('the first step', () => w.cursorLine(), (line) => line === FIRST_STEP);
}

const checks = {
  async 'a folder opens, a failure is underlined'() {
    const gutter = await w.until('gutter icons', () => w.gutter(), (icons) => icons.length === 3 && !icons.includes('running') && !icons.includes('queued'));
    assert.deepEqual(gutter.slice(0, 2), ['proved', 'violated']);
    assert.match(await w.until('the status bar', () => w.statusBar(), (t) => /\d/.test(t)), /Proofline/);
  },
  async 'Problems has the failure with its numbered steps'() {
    await w.command('View: Focus Problems');
    const rows = await w.until('problem rows', () => w.rows('.markers-panel'), (r) => r.length > 5);
    assert.ok(rows.some((r) => r.includes('signed overflow') && r.includes('signed-overflow')), rows.join('\n'));
    const steps = rows.filter((r) => /^\s*\d+: /.test(r.replace(/^[^\d]*(\d+: )/, '$1'))).map((r) => Number(/(\d+): /.exec(r)[1]));
    assert.deepEqual(steps, steps.map((_, i) => i + 1));
    await w.picture('problems');
    await w.key('Control+j');
    await page.locator('.part.panel').waitFor({ state: 'hidden' });
  },
  async 'hover says what a function ensures'() {
    await w.go('average.c:6:13');
    await w.command('Show or Focus Hover');
    const hover = page.locator('.monaco-hover:not(.hidden) .hover-contents');
    await hover.first().waitFor();
    const text = (await hover.allInnerTexts()).join('\n');
    assert.match(text, /ensures|proved/i);
    await w.picture('hover');
    await w.key('Escape');
  },
  async 'a lens over every function'() {
    const lenses = await w.until('lenses', () => page.locator('.codelens-decoration').allInnerTexts(), (l) => l.filter((t) => t.trim() !== '').length >= 3);
    assert.ok(lenses.some((t) => /proved/i.test(t)), lenses.join('\n'));
  },
  async 'a code action opens the trace: tree by depth of calls, numbered values behind the lines'() {
    await openTrace();
    await w.picture('code-action');
    await w.key('Enter');
    const rows = await w.until('steps in the tree', () => w.rows('.pane-body'), (r) => r.length > 4);
    assert.ok(rows.some((r) => /\d+: call average\(/.test(r)), rows.join('\n'));
    const levels = await page.locator('.pane-body .monaco-list-row').evaluateAll((all) => all.map((e) => Number(e.getAttribute('aria-level'))));
    assert.ok(Math.max(...levels) === 2, `levels ${levels}`);
    const behind = await w.until('values behind the lines', () => w.behindLines(), (b) => b.length > 4);
    assert.ok(behind.some(([line, text]) => line.includes('int low =') && text.includes('low = ')), JSON.stringify(behind));
    assert.ok(behind.some(([line]) => line.includes('(low + high) / 2')), JSON.stringify(behind));
    await w.picture('trace');
    await w.command('Proofline: Close the Counterexample');
    await w.until('values are gone', () => w.behindLines(), (b) => b.length === 0);
  },
  async 'memory at a step is drawn: a list in a row, what is freed crossed out'() {
    await w.go('list.c');
    await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
    await w.go('list.c:25:12');
    await w.command('Proofline: Show Counterexample Trace');
    const rows = await w.until('steps in the tree', () => w.rows('.pane-body'), (r) => r.length > 4);
    for (let at = 0; at < 40; at++) await w.key('Alt+]');
    assert.ok(rows.length > 0);
    const drawn = async () => {
      for (const frame of page.frames()) {
        const boxes = await frame.locator('svg g.object').evaluateAll((all) => all.map((g) => { const r = g.querySelector('rect.frame').getBoundingClientRect(); return { kind: g.getAttribute('class'), title: g.querySelector('.title').textContent, left: r.left, top: r.top }; })).catch(() => []);
        if (boxes.length > 0) return boxes;
      }
      return [];
    };
    const boxes = await w.until('the picture', drawn, (all) => Array.isArray(all) && all.some((box) => /freed/.test(box.kind)));
    const heap = boxes.filter((box) => /heap|freed/.test(box.kind));
    assert.ok(heap.some((box) => /heap object 2.*freed/.test(box.title)), JSON.stringify(boxes));
    assert.ok(boxes.some((box) => /named/.test(box.kind) && box.title === 'list'), JSON.stringify(boxes));
    const [list, first, second] = [boxes.find((box) => box.title === 'list'), heap.find((box) => /heap object 3/.test(box.title)), heap.find((box) => /heap object 2/.test(box.title))];
    // What the picture shows is said in words.
    const said = await Promise.all(page.frames().map((frame) => frame.locator('svg[role=img]').first().getAttribute('aria-label', { timeout: 500 }).catch(() => '')));
    assert.ok(said.some((words) => /^Memory: .*list → heap object 3/.test(words ?? '') && /freed/.test(words)), JSON.stringify(said));
    assert.ok(list.left < first.left && first.left < second.left && Math.abs(first.top - second.top) < 2, JSON.stringify(boxes));
    await w.picture('memory');
    await w.command('Proofline: Close the Counterexample');
    await w.go('average.c');
  },
  async 'many steps on one line stay in the window; the hover has them all'() {
    await w.go('list.c');
    await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
    await w.go('list.c:25:12');
    await w.command('Proofline: Show Counterexample Trace');
    const behind = await w.until('values behind the lines', () => w.behindLines(), (b) => b.length > 8);
    assert.ok(behind.some(([line, text]) => line.startsWith('for (int i') && /^▶① i = 1 .* \+\d more$/.test(text)), JSON.stringify(behind));
    const { widest, room } = await w.page.evaluate(() => ({
      widest: Math.max(...[...document.querySelectorAll('.editor-instance .view-line span span')].map((span) => span.getBoundingClientRect().right)),
      room: document.querySelector('.editor-instance .view-lines').parentElement.parentElement.getBoundingClientRect().right,
    }));
    assert.ok(widest > 600 && widest < room, `${widest} of ${room} pixels`);
    await w.command('Show or Focus Hover');
    const hover = page.locator('.monaco-hover:not(.hidden) .hover-contents', { hasText: '① i = 1' });
    await hover.first().waitFor();
    assert.match(await hover.first().innerText(), /\(29\) i <= 3 is false/);
    await w.key('Escape');
    // Further on, what the line says is of the step that the path has come to.
    for (let at = 0; at < 20; at++) await w.key('Alt+]');
    const later = await w.until('a later step', () => w.behindLines(), (b) => b.some(([line, text]) => line.startsWith('for (int i') && text.includes('(20)')));
    assert.ok(later.length === behind.length, JSON.stringify(later));
    await w.command('Proofline: Close the Counterexample');
    await w.go('average.c');
  },
  async 'keys step through the trace'() {
    await showTrace();
    const first = await w.cursorLine();
    await w.key('Alt+]');
    const second = await w.until('the next step', () => w.cursorLine(), (line) => line !== first);
    assert.ok(second > first);
    await w.key('Alt+[');
    await w.until('the step before', () => w.cursorLine(), (line) => line === first);
    await w.command('Proofline: Close the Counterexample');
  },
  async 'an edit elsewhere keeps failure and trace, at their new places'() {
    await showTrace();
    const before = await w.behindLines();
    await w.go('average.c:1:1');
    await w.type('// one more line');
    await w.key('Enter');
    await page.waitForTimeout(3000);
    await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
    const behind = await w.until('the trace', () => w.behindLines(), (b) => b.length === before.length);
    assert.deepEqual(behind.map(([line]) => line), before.map(([line]) => line));
    await w.command('Proofline: Close the Counterexample');
    await revert();
  },
  async 'replay in the debugger, forward and back'() {
    await w.go('average.c:11:13');
    await w.command('Proofline: Replay Counterexample in the Debugger');
    await page.locator('.debug-top-stack-frame-line').first().waitFor();
    await w.command('View: Show Run and Debug');
    await page.locator('.debug-variables').first().waitFor();
    const first = await w.cursorLine();
    await w.key('F11');
    const second = await w.until('a step forward', () => w.cursorLine(), (line) => line !== first);
    for (let i = 0; i < 3; i++) await w.key('F11'), await page.waitForTimeout(400);
    const variables = await w.until('variables', () => w.rows('.debug-variables'), (rows) => rows.some((r) => /low/.test(r)));
    assert.ok(variables.some((r) => /high/.test(r)), variables.join('\n'));
    assert.notEqual(first, second);
    await w.picture('replay');
    const back = page.locator('.codicon-debug-step-back').first();
    for (let i = 0; i < 12 && (await w.cursorLine()) !== first; i++) await back.click(), await page.waitForTimeout(500);
    assert.equal(await w.cursorLine(), first);
    await w.key('Shift+F5');
    await page.locator('.debug-top-stack-frame-line').first().waitFor({ state: 'detached' });
    await w.command('View: Show Explorer');
  },
  async 'a test that reproduces the failure is written, and confirmed by running it'() {
    await w.go('average.c:11:13');
    await w.command('Proofline: Write a Test that Reproduces the Failure');
    const run = page.locator('.notification-toast .monaco-button', { hasText: 'Run' });
    await run.first().click();
    await page.locator('.view-lines', { hasText: '2147483646' }).first().waitFor();
    await page.locator('.notification-toast', { hasText: 'confirmed the failure' }).first().waitFor();
    await page.waitForTimeout(2000);
    assert.equal(await w.squiggles(), 1, 'the failure is shown once');
    await w.picture('test');
    await w.command('Notifications: Clear All Notifications');
  },
  async 'a test of a read without a value is written, and says why it was not run'() {
    writeFileSync(path.join(folder, 'unset.c'), 'int main(void) {\n    int percent;\n    return percent / 2;\n}\n');
    await w.go('unset.c:3:12');
    await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
    await w.command('Proofline: Write a Test that Reproduces the Failure');
    const note = page.locator('.notification-toast', { hasText: 'sanitizers cannot see a read without a value' });
    await note.first().waitFor();
    assert.match(await note.first().innerText(), /was written and not run/);
    await page.locator('.view-lines', { hasText: 'program_under_test' }).first().waitFor();
    await w.command('Notifications: Clear All Notifications');
    unlinkSync(path.join(folder, 'unset.c'));
  },
  async 'a command means a failure of the file in front, never one of another file'() {
    await showTrace();
    await w.go('table.c');
    await page.locator('.view-lines', { hasText: 'table[i]' }).first().waitFor();
    await w.command('Proofline: Write a Test that Reproduces the Failure');
    const note = page.locator('.notification-toast', { hasText: 'no failure with a counterexample in table.c' });
    await note.first().waitFor();
    assert.match(await note.first().innerText(), /The open counterexample is of average\.c/);
    assert.equal(await page.locator('.view-lines', { hasText: 'program_under_test' }).count(), 0);
    await w.command('Notifications: Clear All Notifications');
    await w.go('average.c');
    await w.command('Proofline: Close the Counterexample');
  },
  async 'checks are chosen on the settings page'() {
    await w.command('Preferences: Open Settings (UI)');
    await page.locator('.settings-editor .search-container .view-lines').first().waitFor();
    await w.key('Control+a');
    await w.type('@id:proofline.checks');
    const item = page.locator('.setting-item-contents', { hasText: 'Which checks' }).first();
    await item.waitFor();
    assert.equal(await item.getByText('Edit in settings.json').count(), 0);
    await item.locator('.monaco-button', { hasText: 'Add Item' }).click();
    await item.locator('select').selectOption('division-by-zero');
    await item.locator('.monaco-button', { hasText: 'OK' }).click();
    await w.until('the settings', async () => JSON.parse(readFileSync(process.env.SETTINGS, 'utf8'))['proofline.checks'], (checks) => Array.isArray(checks) && checks.join() === 'division-by-zero');
    await w.go('average.c');
    await w.until('no squiggle', () => w.squiggles(), (n) => n === 0);
    // The word that the setting had before is still understood; the machine's settings come before the user's.
    await settings({ 'proofline.checks': 'all' }, process.env.MACHINE_SETTINGS);
    await w.until('the squiggle with the word', () => w.squiggles(), (n) => n > 0);
    await settings({ 'proofline.checks': undefined }, process.env.MACHINE_SETTINGS);
    await w.until('no squiggle', () => w.squiggles(), (n) => n === 0);
    await settings({ 'proofline.checks': undefined });
    await w.load(url);
    await w.go('average.c');
    await w.until('the squiggle without the setting', () => w.squiggles(), (n) => n > 0);
  },
  async 'proofline.toml is completed and explained'() {
    writeFileSync(path.join(folder, 'proofline.toml'), 'wrapv = false\n\n');
    await w.go('proofline.toml:2:1');
    const offered = async () => (await page.locator('.suggest-widget .monaco-list-row').allInnerTexts()).map((row) => row.split('\n')[0].trim());
    const suggest = async (wanted) => {
      await w.key('Control+Space');
      return w.until('what is offered', offered, (rows) => rows.includes(wanted));
    };
    const keys = await suggest('allocation');
    assert.ok(keys.includes('exclude') && !keys.includes('wrapv'), keys.join());
    await w.key('Escape');
    await w.type('alloc');
    await suggest('allocation');
    await w.key('Enter');
    await suggest('"never-fails"');
    await w.type('never');
    await w.key('Enter', 'End', 'Enter');
    await w.type('checks = ');
    await suggest('"array-bounds"');
    await w.key('Escape');
    const text = (await page.locator('.editor-instance .view-lines').first().innerText()).replaceAll('\u00a0', ' ');
    assert.match(text, /allocation = "never-fails"/);
    await w.go('proofline.toml:2:3');
    await w.command('Show or Focus Hover');
    await page.locator('.monaco-hover:not(.hidden) .hover-contents', { hasText: 'memory can run out' }).first().waitFor();
    await w.key('Escape');
    await revert('proofline.toml');
    unlinkSync(path.join(folder, 'proofline.toml'));
  },
  async 'the panel with a function summary'() {
    await w.go('average.c:6:13');
    await w.command('Proofline: Show Function Summary');
    const text = await w.until('the panel', () => w.webview('CHECKS'), (t) => t !== undefined);
    assert.match(text, /careful/);
    assert.match(text, /REQUIRES/);
    await w.picture('summary');
    // It is heard and used without a mouse, too.
    const { frame } = await w.frame('CHECKS');
    assert.deepEqual(await faults(frame), []);
  },
  async 'the view of a proof: why a function is proved, line by line'() {
    await w.go('average.c:7:12');
    await w.command('Proofline: Show Why a Function Is Proved');
    const rows = await w.until('lines of the proof', () => w.rows('.pane-body'), (r) => r.some((row) => /holds: /.test(row)));
    assert.ok(rows.some((row) => /^proved/.test(row.trim())), rows.join('\n'));
    await w.picture('proof');
    // By keys alone: into the view, to a line, to its place.
    await w.go('average.c:1:1');
    await w.command('Proofline: Focus on Proof View');
    const focused = page.locator('.pane-body .monaco-list.element-focused .monaco-list-row.focused, .pane-body .monaco-list:focus .monaco-list-row.focused').first();
    await w.key('Home');
    for (let line = 0; line < rows.length && !(await focused.innerText()).includes('holds: '); line++) await w.key('ArrowDown');
    assert.match((await focused.getAttribute('aria-label')) ?? '', /holds: .*line 7/);
    await w.key('Enter');
    await w.until('the place', () => w.cursorLine(), (line) => line === 7);
    await w.command('Proofline: Close the Proof');
  },
  async 'the walkthrough opens, its buttons work from there, and its steps are ticked off'() {
    const button = async (title, label) => {
      await w.walkthrough();
      const step = page.locator('.getting-started-step', { hasText: title });
      await step.click();
      await step.locator('.monaco-button', { hasText: label }).click();
    };
    await w.go('average.c:7:12');
    await w.walkthrough();
    assert.equal(await page.locator('.getting-started-step').count(), 5);
    for (const title of ['The program that verifies', 'Open a C file']) await w.until(title, () => w.ticked(title), (is) => is);
    await button('Read a counterexample', 'Show the nearest failure');
    await w.until('the first step', () => w.cursorLine(), (line) => line === FIRST_STEP);
    await w.command('Proofline: Close the Counterexample');
    await button('Replay it', 'Replay it');
    await page.locator('.debug-top-stack-frame-line').first().waitFor();
    await w.key('Shift+F5');
    await page.locator('.debug-top-stack-frame-line').first().waitFor({ state: 'detached' });
    await w.go('average.c:7:12');
    await button('What was proved, and why', "Show the function's summary");
    await w.until('the panel', () => w.webview('CHECKS'), (text) => text !== undefined);
    await w.walkthrough();
    for (const title of ['Read a counterexample', 'Replay it', 'What was proved']) await w.until(title, () => w.ticked(title), (is) => is);
    await w.command('View: Show Explorer');
  },
  async 'what callers must see to has its own mark, and says what it is'() {
    writeFileSync(path.join(folder, 'ratio.c'), 'int ratio(int a, int b) {\n    return b < -1 ? 0 : a / 7 / b;\n}\n');
    await w.go('ratio.c');
    await w.until('the mark', () => w.gutter(), (icons) => icons.length === 1 && icons[0] === 'asks');
    await w.until('the lens', () => page.locator('.codelens-decoration').allInnerTexts(), (l) => l.some((text) => text.includes('needs b != 0')));
    await w.picture('needs');
    await w.go('average.c');
  },
  async 'the Testing view lists functions with their verdicts; run'() {
    await w.command('Testing: Focus on Test Explorer View');
    const tree = page.locator('.test-explorer .monaco-list-row');
    const file = tree.filter({ hasText: 'average.c' }).first();
    await file.waitFor();
    if ((await file.getAttribute('aria-expanded')) === 'false') {
      await file.click();
      await w.key('ArrowRight');
    }
    const rows = await w.until('functions', () => tree.allInnerTexts(), (r) => ['careful', 'average', 'main'].every((f) => r.some((row) => row.includes(f))));
    assert.ok(rows.some((r) => /careful/.test(r) && /proved/.test(r)), rows.join('\n'));
    await w.command('Test: Run All Tests');
    await w.until('the verdicts again', () => tree.allInnerTexts(), (r) => r.some((row) => /careful/.test(row) && /proved/.test(row)) && r.some((row) => /average/.test(row) && /fails/.test(row)));
    await w.picture('testing');
    await w.command('View: Show Explorer');
  },
  async 'Run All verifies closed files, too, and says whole reasons'() {
    writeFileSync(path.join(folder, 'ratio.c'), 'int ratio(int a, int b) {\n    return b == 0 ? 0 : a / 7 / b;\n}\n');
    await w.go('ratio.c');
    await w.until('its verdict', () => w.gutter(), (icons) => icons.length === 1 && !['queued', 'running'].includes(icons[0]));
    await w.command('View: Close Editor');
    await w.go('average.c');
    await w.command('Testing: Focus on Test Explorer View');
    const rows = () => page.locator('.test-explorer .monaco-list-row').allInnerTexts();
    await w.until('the closed file', rows, (all) => all.some((row) => row.includes('ratio.c')));
    await w.command('Test: Run All Tests');
    // The terminal that shows it breaks words.
    const output = async () => (await page.locator('.part.panel .xterm-rows').first().innerText()).replaceAll('\n', '').replaceAll('\u00a0', ' ');
    const said = await w.until('the output of the run', output, (text) => /main:/.test(text));
    assert.match(said, /main: proved only if nothing fails before, which is not proved/);
    assert.ok(!/not open/.test(said), said);
    unlinkSync(path.join(folder, 'ratio.c'));
    await w.command('View: Show Explorer');
  },
  async 'a file that is gone leaves the Testing view when it is run'() {
    writeFileSync(path.join(folder, 'gone.c'), 'int half(int a) {\n    return a / 2;\n}\n');
    await w.go('gone.c');
    await w.until('its verdict', () => w.gutter(), (icons) => icons.length === 1 && icons[0] === 'proved');
    await w.command('View: Close Editor');
    await w.go('average.c');
    unlinkSync(path.join(folder, 'gone.c'));
    await w.command('Testing: Focus on Test Explorer View');
    const row = page.locator('.test-explorer .monaco-list-row', { hasText: 'gone.c' });
    await row.first().click();
    await row.first().locator('.codicon-testing-run-icon').click();
    await w.until('the view without it', () => row.count(), (n) => n === 0);
    await w.command('View: Show Explorer');
  },
  async 'stop means stop'() {
    await w.go('slow.c');
    await page.locator('.view-lines', { hasText: 'Nobody knows' }).first().waitFor();
    await w.until('the work', () => w.gutter(), (icons) => icons.length === 1 && ['queued', 'running'].includes(icons[0]));
    await page.waitForTimeout(2500);
    assert.ok(['queued', 'running'].includes((await w.gutter())[0]), 'it is meant to take long');
    await w.command('Proofline: Stop Verifying this File');
    await w.until('the end of the work', () => w.gutter(), (icons) => icons.length === 1 && icons[0] === 'unknown', 10000);
    // The same from the Testing view.
    await w.command('Testing: Focus on Test Explorer View');
    const row = page.locator('.test-explorer .monaco-list-row', { hasText: 'slow.c' }).first();
    await row.click();
    await page.waitForTimeout(300);
    await row.locator('.codicon-testing-run-icon').click();
    await w.until('the work again', () => w.gutter(), (icons) => ['queued', 'running'].includes(icons[0]));
    await w.command('Test: Cancel Test Run');
    await w.until('the end again', () => w.gutter(), (icons) => icons[0] === 'unknown', 10000);
    await w.command('View: Show Explorer');
    await w.go('average.c');
  },
  async 'an edit that mends the failure clears it, and the trace with it'() {
    await showTrace();
    await w.go('average.c:11:12');
    await w.key('Shift+End');
    await w.type('low + (high - low) / 2;');
    await w.until('no squiggle', () => w.squiggles(), (n) => n === 0);
    await w.until('no trace', () => w.behindLines(), (b) => b.length === 0);
    const gutter = await w.until('all proved', () => w.gutter(), (g) => g.length === 3 && g[1] === 'proved');
    assert.equal(gutter[1], 'proved');
    await w.picture('mended');
    await revert();
    await w.until('the squiggle again', () => w.squiggles(), (n) => n > 0);
  },
  async 'an unsaved edit of a header reaches the file that includes it'() {
    await w.go('table.c');
    await page.locator('.view-lines', { hasText: 'table[i]' }).first().waitFor();
    await w.until('no squiggle', () => w.squiggles(), (n) => n === 0);
    await w.go('limit.h:4:16');
    await w.key('Backspace');
    await w.type('9');
    await w.go('table.c');
    await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
    await w.picture('header');
    await revert('limit.h');
    await w.go('table.c');
    await w.until('no squiggle again', () => w.squiggles(), (n) => n === 0);
    await w.go('average.c');
  },
  async 'light and high-contrast themes'() {
    // Settings that the browser side reads are read when the window loads.
    for (const [name, theme, mark] of [['light', 'Default Light Modern', 'vs'], ['contrast', 'Default High Contrast', 'hc-black']]) {
      await settings({ 'workbench.colorTheme': theme });
      await w.load(url);
      await page.locator(`.monaco-workbench.${mark}`).waitFor();
      await w.go('average.c');
      await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
      await showTrace();
      await w.picture(`trace-${name}`);
      await w.command('Proofline: Close the Counterexample');
    }
    await settings({ 'workbench.colorTheme': 'Default Dark Modern' });
    await w.load(url);
    await page.locator('.monaco-workbench.vs-dark').waitFor();
  },
  async 'answers go to the store that a setting names, at once'() {
    const store = path.join(path.dirname(process.env.SETTINGS), `team-store-${Date.now()}`);
    // A setting of the machine that the server runs on.
    const machine = process.env.MACHINE_SETTINGS;
    await settings({ 'proofline.store': store }, machine);
    await w.go('list.c');
    await w.key('Control+End');
    // Another text than ever before, so that nobody knows its answers. On a busy machine the editor hears of the setting after that of the text: then one more.
    for (let more = 0; more < 6 && objects(store) === 0; more++) {
      await page.keyboard.type(`\nint added${Date.now()}(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i & 3; return sum < 0; }\n`);
      await w.until('objects in the store', async () => objects(store), (count) => count > 0, 15000).catch(() => undefined);
    }
    assert.ok(objects(store) > 0, 'nothing is in the store');
    await revert('list.c');
    await settings({ 'proofline.store': '' }, machine);
    await w.go('average.c');
    await w.until('the server again', () => w.gutter(), (icons) => icons.includes('proved'));
  },
  async 'a missing program is said, with what to do'() {
    const file = process.env.MACHINE_SETTINGS;
    const { 'proofline.path': program } = JSON.parse(readFileSync(file, 'utf8'));
    await settings({ 'proofline.path': '/nowhere/proofline' }, file);
    const note = page.locator('.notification-toast', { hasText: 'is not a program' });
    await note.first().waitFor();
    assert.match(await note.first().innerText(), /Choose…/);
    await w.picture('missing');
    await settings({ 'proofline.path': program }, file);
    await w.until('the server again', () => w.gutter(), (icons) => icons.includes('proved'));
    await w.command('Notifications: Clear All Notifications').catch(() => undefined);
  },
};

/** Changes the user's settings on disk; VS Code notices. */
async function settings(change, file = process.env.SETTINGS) {
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }, null, 2));
  await page.waitForTimeout(500);
}

/** How many files a folder has, if there is one. */
function objects(folder) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
  } catch {
    return 0;
  }
}

const only = process.env.ONLY;
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  if (only !== undefined && !name.includes(only)) continue;
  for (let attempt = 1; attempt <= 2; attempt++) {
    const start = Date.now();
    try {
      await fresh();
      await check();
      console.log(`ok      ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
      break;
    } catch (error) {
      await page.screenshot({ path: path.join(pictures, `failed-${attempt}-${name.replaceAll(/\W+/g, '-')}.png`) }).catch(() => undefined);
      console.log(`${attempt === 2 ? 'FAILED ' : 'again  '} ${name}\n        ${String(error.message).replaceAll('\n', '\n        ')}`);
      if (attempt === 2) failed++;
      await w.load(url).catch(() => undefined);
    }
  }
}
await w.close();
process.exitCode = failed === 0 ? 0 : 1;
