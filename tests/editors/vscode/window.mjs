// A VS Code window in a real browser: the few gestures and readings that the checks are made of.
import { createRequire } from 'node:module';
import path from 'node:path';

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT ?? 'playwright-core');

/** Longest wait for anything; a loaded machine is slow, not wrong. */
export const PATIENCE = Number(process.env.PATIENCE_MS ?? 60000);

export class Window {
  static async open(url, pictures) {
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    const context = await browser.newContext({ viewport: { width: 1360, height: 820 } });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const window = new Window(browser, page, pictures);
    await window.load(url);
    return window;
  }

  constructor(browser, page, pictures) {
    this.browser = browser;
    this.page = page;
    this.pictures = pictures;
  }

  /** The first start compiles caches and may fail on a slow machine: it is tried again. */
  async load(url) {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.page.goto(url, { timeout: PATIENCE * 2 });
        await this.page.locator('.explorer-folders-view .monaco-list-row').first().waitFor({ timeout: PATIENCE * 2 });
        return;
      } catch (error) {
        if (attempt === 3) throw error;
        console.log(`  the window did not come up, attempt ${attempt} of 3`);
      }
    }
  }

  async picture(name) {
    await this.page.mouse.move(680, 815);
    await this.page.waitForTimeout(700);
    await this.page.screenshot({ path: path.join(this.pictures, `vscode-${name}.png`) });
  }

  async key(...keys) {
    for (const key of keys) {
      await this.page.keyboard.press(key);
      await this.page.waitForTimeout(80);
    }
  }

  async type(text) {
    await this.page.keyboard.type(text, { delay: 15 });
  }

  /** Runs an entry of the command palette by its exact title. */
  async command(title) {
    await this.retry(async () => {
      await this.page.keyboard.press('F1');
      const input = this.page.locator('.quick-input-widget input').first();
      await input.waitFor({ timeout: 10000 });
      await input.fill(`>${title}`);
      const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
      await row.waitFor({ timeout: 10000 });
      await this.page.waitForTimeout(250);
      await this.page.keyboard.press('Enter');
      await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden', timeout: 10000 }).catch(() => undefined);
    });
  }

  /** Opens Proofline's walkthrough. */
  async walkthrough() {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input').first();
    const row = (text) => this.page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
    for (const [text, entry] of [['>Welcome: Open Walkthrough...', 'Open Walkthrough'], ['Proofline', 'Proofline: the first five minutes']]) {
      await input.fill(text);
      await row(entry).waitFor();
      await this.page.waitForTimeout(250);
      await this.page.keyboard.press('Enter');
    }
    await this.page.locator('.getting-started-step').first().waitFor();
  }

  /** Whether a step of the walkthrough is ticked off. */
  async ticked(title) {
    return (await this.page.locator('.getting-started-step', { hasText: title }).locator('.codicon.complete').count()) === 1;
  }

  /** Opens a file, or goes to `file:line:column`. */
  async go(file) {
    await this.retry(async () => {
      await this.page.keyboard.press('Control+P');
      const input = this.page.locator('.quick-input-widget input').first();
      await input.waitFor({ timeout: 10000 });
      await input.fill(file);
      await this.page.locator('.quick-input-list .monaco-list-row', { hasText: file.split(':')[0] }).first().waitFor({ timeout: 10000 });
      await this.page.waitForTimeout(300);
      await this.page.keyboard.press('Enter');
      await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden', timeout: 10000 });
      await this.page.waitForTimeout(200);
    });
  }

  /** A gesture that a late pop-up swallowed is made again. */
  async retry(gesture) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await gesture();
      } catch (error) {
        if (attempt === 3) throw error;
        await this.page.keyboard.press('Escape');
        await this.page.waitForTimeout(500);
      }
    }
  }

  /** Waits until `read` gives something that `accept` takes; returns it. */
  async until(what, read, accept, patience = PATIENCE) {
    const end = Date.now() + patience;
    let last;
    do {
      last = await read().catch((error) => String(error));
      if (accept(last)) return last;
      await this.page.waitForTimeout(150);
    } while (Date.now() < end);
    throw new Error(`${what}: still ${JSON.stringify(last)}`);
  }

  squiggles() {
    return this.page.locator('.squiggly-error').count();
  }

  statusBar() {
    return this.page.locator('.statusbar-item', { hasText: 'Proofline' }).first().innerText();
  }

  /** The states whose icons stand in the gutter, from above to below. */
  gutter() {
    return this.page.evaluate(() =>
      [...document.querySelectorAll('.cgmr')]
        .map((e) => ({ top: e.getBoundingClientRect().top, image: getComputedStyle(e).backgroundImage }))
        .map((e) => ({ top: e.top, state: /gutter\/(?:dark|light)\/([a-z-]+)\.svg/.exec(decodeURIComponent(e.image))?.[1] }))
        .filter((e) => e.state !== undefined)
        .sort((a, b) => a.top - b.top)
        .map((e) => e.state),
    );
  }

  /** The texts that decorations put behind the lines: [line as it reads, text]. */
  behindLines() {
    return this.page.evaluate(() =>
      [...document.querySelectorAll('.editor-instance .view-line')]
        .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
        .flatMap((line) =>
        [...line.querySelectorAll('span')].flatMap((span) => {
          const text = getComputedStyle(span, '::after').content;
          return text && text !== 'none' && text !== 'normal' ? [[line.textContent.replaceAll('\u00a0', ' ').trim(), text.slice(1, -1).replaceAll('\u00a0', ' ').trim()]] : [];
        }),
      ),
    );
  }

  rows(selector) {
    return this.page.locator(`${selector} .monaco-list-row`).allInnerTexts();
  }

  /** The line that a code line stands on in the file, as the editor numbers it. */
  async cursorLine() {
    const text = await this.page.locator('.statusbar-item', { hasText: /Ln \d+/ }).first().innerText();
    return Number(/Ln (\d+)/.exec(text)[1]);
  }

  /** The document of a web view that holds a text. */
  async webview(text) {
    return (await this.frame(text))?.body;
  }

  /** The frame of that document, and its text. */
  async frame(text) {
    for (const frame of this.page.frames()) {
      const body = await frame.locator('body').innerText({ timeout: 500 }).catch(() => '');
      if (body.includes(text)) return { frame, body };
    }
    return undefined;
  }

  async close() {
    await this.browser.close();
  }
}
