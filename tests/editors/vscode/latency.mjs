// Keystroke to squiggle in a real VS Code: types a character that makes a failure, takes it out again, and times the page.
// Usage: node latency.mjs URL N. The whole chain: key, extension host, server, publish, paint. Reported, not judged.
import { Window } from './window.mjs';

const [url, n] = process.argv.slice(2);
const w = await Window.open(url, '.');
const { page } = w;
await w.go('average.c:11:1');
await w.until('the squiggle', () => w.squiggles(), (count) => count > 0);
// From here on one key decides: `low - high` is fine, `low - -high` overflows.
await w.key('Shift+End');
await w.type('    return low - high < 0;');
await w.until('no squiggle', () => w.squiggles(), (count) => count === 0);
await w.go('average.c:11:18');
await page.waitForTimeout(2000);

const watch = (there) =>
  page.evaluate(
    (there) =>
      new Promise((done) => {
        const start = performance.now();
        const now = () => (document.querySelector('.squiggly-error') !== null) === there;
        const finish = (time) => (observer.disconnect(), done(time));
        const observer = new MutationObserver(() => now() && finish(performance.now() - start));
        observer.observe(document.body, { childList: true, subtree: true, attributes: true });
        setTimeout(() => finish(null), 20000);
      }),
    there,
  );
const gone = [];
const back = [];
for (let i = 0; i < Number(n); i++) {
  for (const [there, key, times] of [[true, '-', back], [false, 'Backspace', gone]]) {
    const seen = watch(there);
    await page.keyboard.press(key);
    times.push(await seen);
    await page.waitForTimeout(700);
  }
}
await w.command('File: Revert File');
const quantile = (all, p) => {
  const sorted = all.filter((t) => t !== null).sort((a, b) => a - b);
  return sorted.length === 0 ? null : Math.round(sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))]);
};
const row = (all) => ({ n: all.filter((t) => t !== null).length, p50: quantile(all, 0.5), p95: quantile(all, 0.95) });
// The floor: a server in JavaScript that answers after 60 ms without looking, measured in the same way on the same machine (2 cores, load 9).
console.log(JSON.stringify({ unit: 'ms', appears: row(back), disappears: row(gone), floor: { p50: '90-130', p95: '220-290' } }));
await w.close();
