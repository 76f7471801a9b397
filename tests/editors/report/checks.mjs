// What the report shows, checked in a real browser. Usage: node checks.mjs FOLDER PICTURES
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { faults, tabbed } from '../accessibility.mjs';

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT ?? 'playwright-core');
const [folder, pictures] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, colorScheme: 'light', reducedMotion: 'reduce' });
const page = await context.newPage();
page.setDefaultTimeout(Number(process.env.PATIENCE_MS ?? 60000));
const said = [];
const asked = [];
page.on('pageerror', (error) => said.push(String(error.stack)));
page.on('console', (message) => { if (message.type() === 'error') said.push(message.text()); });
page.on('request', (request) => asked.push(request.url()));

const url = (report) => pathToFileURL(path.join(folder, report, 'index.html')).href;
/** Opens a view of a report afresh. */
async function open(report, hash = '') {
  await page.goto('about:blank');
  await page.goto(url(report) + hash);
  await page.locator('#main h1').waitFor();
}
const picture = (name, kind = 'report') => page.screenshot({ path: path.join(pictures, `${kind}-${name}.png`) });
const text = (selector) => page.locator(selector).first().innerText();
const current = () => text('.steps .current .what');
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

const checks = {
  async 'the first page says what is wrong where'() {
    await open('stock');
    assert.match(await text('.hero h1'), /^2 failures in .*stock\.c$/);
    const cards = await page.locator('.card.violated h3').allInnerTexts();
    assert.equal(cards.length, 2, cards.join('\n'));
    assert.ok(cards.some((card) => card.includes('division by zero')) && cards.some((card) => card.includes('use after free')), cards.join('\n'));
    await page.locator('.excerpt .row.here').nth(1).waitFor();
    assert.ok((await page.locator('.excerpt .row.here .mark.violated').allInnerTexts()).some((mark) => mark.includes('items')));
    await picture('overview');
  },
  async 'a failure is stepped through with keys'() {
    await open('stock');
    await page.locator('.card.violated', { hasText: 'use after free' }).locator('.button').click();
    await page.locator('.steps .current').waitFor();
    const steps = await page.locator('.steps li').count();
    assert.ok(steps > 6, String(steps));
    const first = await current();
    await page.keyboard.press('j');
    const second = await current();
    assert.notEqual(second, first);
    await page.keyboard.press('ArrowUp');
    assert.equal(await current(), first);
    await page.keyboard.press('End');
    assert.equal(await text('.counter'), `${steps} of ${steps}`);
    assert.match(await text('.source .row.here.failing'), /top->next/);
    // What is known of the memory: the box that was freed.
    assert.match(await text('.values'), /heap object \d[\s\S]*freed/);
    // Memory: the list in a row, and what was freed crossed out.
    await page.locator('.memory .freed .title').first().waitFor();
    const boxes = await page.locator('.memory g.object').evaluateAll((all) => all.map((g) => { const r = g.querySelector('.frame').getBoundingClientRect(); return { kind: g.getAttribute('class'), left: r.left, right: r.right, top: r.top, bottom: r.bottom }; }));
    assert.ok(boxes.length > 1, JSON.stringify(boxes));
    assert.ok(!boxes.some((a, at) => boxes.slice(at + 1).some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)), 'boxes lie on one another');
    assert.ok((await page.locator('.memory path.dangling').count()) > 0, 'a pointer to what is freed');
    await picture('step');
    // The step has an address of its own.
    const address = page.url();
    await page.keyboard.press('Home');
    assert.equal(await current(), first);
    await page.goto('about:blank');
    await page.goto(address);
    await page.locator('.steps .current').waitFor();
    assert.equal(await text('.counter'), `${steps} of ${steps}`);
    await page.keyboard.press('n');
    await page.locator('.finding-head', { hasText: 'division' }).waitFor();
  },
  async 'the source has verdicts at its lines'() {
    await open('stock', '#/');
    await page.locator('#main section').filter({ hasText: 'By file' }).locator('a', { hasText: 'stock.c' }).click();
    await page.locator('.source .row').first().waitFor();
    const row = page.locator('.source .row', { hasText: 'top->price / top->items' });
    assert.equal(await row.locator('.gutter').innerText(), '✗');
    await row.locator('.gutter').click();
    assert.match(await text('.peek'), /division by zero/);
    assert.match(await text('.peek li'), /top->items != 0/);
    await page.locator('.peek').scrollIntoViewIfNeeded();
    await picture('source');
    assert.equal(await page.locator('.source .row', { hasText: 'boxes++' }).locator('.gutter').count(), 1);
  },
  async 'a function has its summary and its automaton'() {
    await open('stock', '#/function/clear');
    assert.match(await text('#main h1'), /clear/);
    assert.match(await text('.facts'), /called by[\s\S]*main/);
    await page.locator('summary', { hasText: 'The automaton' }).click();
    await page.locator('.drawing svg .block').first().waitFor();
    const overlaps = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll('.drawing rect')].map((rect) => rect.getBBox());
      return boxes.filter((a, at) => boxes.slice(at + 1).some((b) => a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1 && a.y < b.y + b.height - 1 && b.y < a.y + a.height - 1)).length;
    });
    assert.equal(overlaps, 0, 'boxes lie on one another');
    await page.locator('.drawing').scrollIntoViewIfNeeded();
    await picture('automaton');
    await open('stock', '#/calls');
    const names = await page.locator('.drawing text').allTextContents();
    for (const name of ['main', 'put', 'clear', 'price_of_item']) assert.ok(names.some((shown) => shown.includes(name)), name);
  },
  async 'inside: what is known at each place, the graph of abstract states, calls through pointers'() {
    await open('stock', '#/function/main');
    await page.locator('summary', { hasText: 'The automaton' }).click();
    await page.locator('.drawing text.fact').first().waitFor();
    const known = await page.locator('.drawing text.fact').allTextContents();
    assert.ok(known.some((line) => /i <= 2/.test(line)), known.join('\n'));
    const told = await page.locator('.drawing text title').allTextContents();
    assert.ok(told.some((line) => /before: .*items/.test(line)), told.join('\n'));
    await page.locator('summary', { hasText: 'The automaton' }).click();
    await page.locator('summary', { hasText: 'The graph of abstract states' }).click();
    await page.locator('.drawing rect.state').first().waitFor();
    assert.ok((await page.locator('.drawing text').allTextContents()).some((line) => /items in \[0, 50\]/.test(line)));
    await page.locator('.drawing').first().scrollIntoViewIfNeeded();
    await picture('states');
    await open('pointers', '#/function/either');
    assert.match(await text('.facts'), /through pointers: half, twice/);
    await open('pointers', '#/calls');
    const dotted = await page.locator('.edge.pointer').evaluateAll((all) => all.map((edge) => `${edge.dataset.from} ${edge.dataset.to}`));
    assert.equal(dotted.length, 2, dotted.join('\n'));
    assert.ok(dotted.every((edge) => /either.*(half|twice)/.test(edge)), dotted.join('\n'));
  },
  async 'what proofs rest on, and who decided what'() {
    await open('stock', '#/assumptions');
    assert.match(await text('#main'), /rest/);
    await open('stock', '#/engines');
    assert.match(await text('.table-box'), /intervals/);
  },
  async 'search and filters'() {
    await open('stock');
    await page.keyboard.press('/');
    await page.keyboard.type('price_of');
    await page.locator('.hits a', { hasText: 'price_of_item' }).first().waitFor();
    await page.keyboard.press('Escape');
    await open('stock', '#/places/all');
    const all = await page.locator('.filtered tbody tr').count();
    await page.locator('.filters .chip.violated').click();
    const failing = await page.locator('.filtered tbody tr').count();
    assert.ok(failing > 0 && failing < all, `${failing} of ${all}`);
    await page.locator('.filters input').fill('division');
    assert.equal(await page.locator('.filtered tbody tr').count(), 1);
  },
  async 'light, dark, and paper'() {
    await open('stock');
    assert.equal(await background(), 'rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await background(), 'rgb(15, 19, 24)');
    await picture('dark');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await background(), 'rgb(255, 255, 255)');
    assert.equal(await page.locator('#bar nav').isVisible(), false);
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    await page.keyboard.press('t');
    await page.keyboard.press('t');
    assert.equal(await background(), 'rgb(15, 19, 24)');
    await page.keyboard.press('t');
    // Text is read: at least 4.5 to 1 for signs and words of verdicts in both.
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const worst = await page.evaluate(() => {
        const light = (color) => { const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((v) => { const c = Number(v) / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ratios = [...document.querySelectorAll('.badge, .hero h1')].map((e) => { const box = e.closest('.badge, .hero'); const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(box).backgroundColor)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); });
        return Math.min(...ratios);
      });
      assert.ok(worst >= 4.5, `${colorScheme}: ${worst}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  },
  async 'without a mouse, without eyes, without colours'() {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const [report, hash] of [['stock', ''], ['stock', '#/file/stock.c/1'], ['stock', '#/function/clear'], ['stock', '#/places/all'], ['stock', '#/assumptions'], ['stock', '#/engines'], ['stock', '#/calls'], ['several/report', '']]) {
        await open(report, hash);
        assert.deepEqual(await faults(page), [], `${report}${hash}, ${colorScheme}`);
      }
      await open('stock');
      await page.locator('.card.violated .button').first().click();
      await page.locator('.steps .current').waitFor();
      assert.deepEqual(await faults(page), [], `a failure, ${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    // From the first page to the steps of a failure with Tab and Enter alone.
    await open('stock');
    const { reached, faults: unseen } = await tabbed(page);
    assert.deepEqual(unseen, []);
    assert.ok(reached.length > 10, reached.join(', '));
    await open('stock');
    for (let at = 0; at < 100 && !(await page.evaluate(() => document.activeElement.matches('.card.violated .button'))); at++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.steps .current').waitFor();
    // What is heard of a line in the source is more than its colour.
    const marks = await page.locator('.source .gutter').evaluateAll((all) => all.map((mark) => `${mark.getAttribute('aria-label') ?? mark.title} ${mark.innerText}`.trim()));
    assert.ok(marks.some((mark) => /✗|fail/i.test(mark)), marks.join('\n'));
  },
  async 'names and texts are never markup'() {
    await open('hostile');
    assert.match(await text('.card h3'), /division by zero/);
    await page.locator('.card .button').first().click();
    await page.locator('.steps .current').waitFor();
    await page.keyboard.press('End');
    assert.equal((await page.locator('.source .row.here .mark.violated').allInnerTexts()).join(''), '100 / a', 'columns are in bytes');
    assert.match(await text('.source'), /<\/script><script>document\.title/);
    assert.equal(await page.locator('#main img, #main script').count(), 0);
    assert.doesNotMatch(await page.title(), /taken over/);
  },
  async 'a file of 20,000 lines stays usable'() {
    const began = Date.now();
    await open('long', `#/file/long.c/20005`);
    await page.locator('.source .row[data-line="20005"]').waitFor();
    const took = Date.now() - began;
    const rows = await page.locator('.source .row').count();
    assert.ok(rows < 6000, `${rows} rows are drawn`);
    assert.ok(took < 15000, `${took} ms`);
    assert.ok(asked.some((address) => address.includes('/long/parts/')), 'what is large lies beside the page');
    await page.evaluate(() => { document.querySelector('.source').scrollIntoView(); });
    await page.locator('.source .row[data-line="1"]').waitFor();
  },
  async 'several programs in one report'() {
    await open('several/report');
    assert.match(await text('.hero'), /2 programs/);
    assert.match(await text('.hero h1'), /failures in 2 files/);
    const files = await page.locator('#main section').filter({ hasText: 'By file' }).locator('tbody tr').allInnerTexts();
    assert.ok(files.some((row) => row.includes('average.c')) && files.some((row) => row.includes('stock.c')), files.join('\n'));
  },
};

let result = 0;
for (const [name, check] of Object.entries(checks)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  try {
    await check();
    assert.deepEqual(said, []);
    console.log(`ok      ${name}`);
  } catch (error) {
    result = 1;
    console.log(`FAILED  ${name}\n${error.stack}\n${said.join('\n')}`);
    await picture(name.replaceAll(/\W+/g, '-'), 'failed-report').catch(() => undefined);
  }
  said.length = 0;
}
// Nothing but the report itself, from the disk.
const others = asked.filter((address) => !address.startsWith('file:') && address !== 'about:blank');
if (others.length > 0) { result = 1; console.log(`FAILED  the report asks for ${others.join(', ')}`); }
await browser.close();
process.exit(result);
