// What people need who use no mouse, hear a page or see no colours [WCAG 2.2, levels A and AA, as far as a program can tell]. Runs in the page.

/** What is wrong with a document, each in a sentence. `root` is a page or a frame of Playwright. */
export function faults(root) {
  return root.evaluate(() => {
    const found = [];
    const where = (element) => {
      const label = (element.innerText ?? element.textContent ?? '').trim().slice(0, 40);
      return `<${element.tagName.toLowerCase()}${element.className && typeof element.className === 'string' ? ` class="${element.className}"` : ''}> ${label}`;
    };
    const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) && element.getClientRects().length > 0;
    const name = (element) => {
      const by = element.getAttribute('aria-labelledby');
      const labels = by ? by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? '') : [];
      const own = [...labels, element.getAttribute('aria-label'), element.getAttribute('title'), element.getAttribute('alt'), element.getAttribute('placeholder'), ...[...(element.labels ?? [])].map((l) => l.textContent), element.textContent];
      return own.find((text) => text?.trim()) ?? '';
    };

    if (!document.documentElement.lang) found.push('the language of the page is not said (`lang`)');
    if (!document.title.trim()) found.push('the page has no title');

    // Headings without a jump, so that a list of them is a table of contents.
    let level = 0;
    for (const heading of [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(isShown)) {
      const own = Number(heading.tagName[1]);
      if (own > level + 1) found.push(`a heading of level ${own} behind one of level ${level}: ${where(heading)}`);
      level = own;
    }

    // Whatever can be used has a name, and can be used with the keyboard.
    const usable = 'a[href], button, input, select, textarea, summary, [tabindex], [role=button], [role=link], [role=tab], [role=checkbox], [role=treeitem]';
    for (const element of [...document.querySelectorAll(usable)].filter(isShown)) {
      if (!name(element) && !element.matches('[tabindex="-1"]')) found.push(`something to use that has no name: ${where(element)}`);
      if (element.matches('[role=button], [role=link], [role=tab], [role=checkbox]') && element.tabIndex < 0 && !element.closest('[role=tablist], [role=tree], [aria-activedescendant]')) found.push(`not to be reached with Tab: ${where(element)}`);
    }
    for (const element of [...document.querySelectorAll('[onclick]')].filter(isShown)) {
      if (!element.matches(usable)) found.push(`only a mouse can use it: ${where(element)}`);
    }
    for (const image of [...document.querySelectorAll('img, svg[role=img]')].filter(isShown)) {
      if (!name(image) && image.getAttribute('aria-hidden') !== 'true') found.push(`a picture without words: ${where(image)}`);
    }
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) found.push(`two elements have the id "${id}"`);

    // Text against what is behind it.
    const parts = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const light = (rgb) => {
      const [r, g, b] = rgb.map((value) => { const v = value / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      const layers = [];
      for (let at = element; at; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.backgroundImage !== 'none') return undefined;
        const colour = parts(style.backgroundColor);
        if (style.backgroundColor.startsWith('color(')) return undefined;
        layers.push(colour.length === 3 ? [...colour, 1] : colour);
        if ((colour[3] ?? 1) === 1) break;
      }
      // A view of VS Code lies on the editor's colour.
      const editor = getComputedStyle(document.documentElement).getPropertyValue('--vscode-editor-background').trim();
      const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(editor);
      const dark = matchMedia('(prefers-color-scheme: dark)').matches;
      const ground = hex ? hex.slice(1, 4).map((digits) => parseInt(digits, 16)) : dark ? [0, 0, 0] : [255, 255, 255];
      return layers.reverse().reduce((under, layer) => over(layer, under), ground);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Set();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || seen.has(element) || element.closest('svg, script, style, [aria-hidden=true], [disabled]') || !isShown(element)) continue;
      seen.add(element);
      const style = getComputedStyle(element);
      const back = behind(element);
      if (!back || style.color.startsWith('color(')) continue;
      const front = over(parts(style.color), back);
      const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize);
      const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      if (ratio < needed) found.push(`contrast ${ratio.toFixed(2)}, needed are ${needed}: ${where(element)} (${style.color})`);
    }
    return [...new Set(found)];
  });
}

/** What Tab comes to, in order, once around; each must show that it has the focus. */
export async function tabbed(page, most = 400) {
  const found = [];
  const reached = [];
  await page.evaluate(() => document.activeElement?.blur?.());
  for (let at = 0; at < most; at++) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return undefined;
      window.__reached ??= new Map();
      const isNew = !window.__reached.has(element);
      window.__reached.set(element, true);
      const style = getComputedStyle(element);
      const shows = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
      return { isNew, shows, text: (element.getAttribute('aria-label') ?? element.innerText ?? '').trim().slice(0, 40), tag: element.tagName };
    });
    if (!here || !here.isNew) break;
    reached.push(here.text);
    if (!here.shows) found.push(`nobody sees that it has the focus: <${here.tag.toLowerCase()}> ${here.text}`);
  }
  await page.evaluate(() => { window.__reached = undefined; });
  return { reached, faults: found };
}
