// The first start of VS Code where only the user's shell knows the program. Usage: first-start.mjs URL PROGRAM PICTURES
// PROGRAM is a link that only the login shell's PATH leads to.
import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';
import { Window } from './window.mjs';

const [url, program, pictures] = process.argv.slice(2);
const w = await Window.open(url, pictures);
const { page } = w;
const start = Date.now();
try {
  await w.go('average.c');
  await w.until('the squiggle', () => w.squiggles(), (n) => n > 0);
  console.log(`ok      the login shell finds the program (${((Date.now() - start) / 1000).toFixed(1)} s)`);

  await w.walkthrough();
  for (const title of ['The program that verifies', 'Open a C file']) await w.until(title, () => w.ticked(title), (is) => is);
  console.log('ok      the walkthrough ticks off what is done');

  await w.go('average.c');
  unlinkSync(program);
  await w.command('Proofline: Restart the Server');
  const note = page.locator('.notification-toast', { hasText: 'Its program was not found' });
  await note.first().waitFor();
  assert.match(await note.first().innerText(), /Choose…/);
  console.log('ok      without a program, the message offers to choose one');
} catch (error) {
  await page.screenshot({ path: `${pictures}/failed-first-start.png` }).catch(() => undefined);
  console.log(`FAILED  the first start\n        ${String(error.message).replaceAll('\n', '\n        ')}`);
  process.exitCode = 1;
}
await w.close();
