/** The view "Memory": at the current step of the open counterexample, objects as boxes and pointers as arrows. The server says where they lie. */
import * as vscode from 'vscode';
import type { MemoryObject, MemoryPicture } from '../protocol';
import type { OpenTrace } from './open';

const LINE = 18;

export class MemoryView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly open: OpenTrace) {
    this.subscriptions = [vscode.window.registerWebviewViewProvider('proofline.memory', this), open.onDidChange(() => this.refresh())];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.onDidDispose(() => (this.view = undefined));
    this.refresh();
  }

  private refresh(): void {
    const { trace, current, steps } = this.open;
    const pictures = trace?.pictures ?? [];
    void vscode.commands.executeCommand('setContext', 'proofline.memoryShown', pictures.length > 0);
    if (this.view === undefined) return;
    const step = steps[current]?.step;
    const picture = step?.picture === null || step?.picture === undefined ? undefined : pictures[step.picture];
    this.view.description = step === undefined ? undefined : `step ${step.number}${picture?.more ? `, ${picture.more}` : ''}`;
    this.view.webview.html = page(picture);
  }

  dispose(): void {
    this.subscriptions.forEach((s) => s.dispose());
  }
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function box(object: MemoryObject): string {
  const right = object.x + object.width - 8;
  const cells = object.cells.map(
    (cell) =>
      (cell.isNew ? `<rect class="new" x="${object.x + 1}" y="${cell.y}" width="${object.width - 2}" height="${LINE}"/>` : '') +
      `<text class="member" x="${object.x + 8}" y="${cell.y + 13}">${escape(cell.name)}</text>` +
      `<text class="${cell.kind}" x="${right}" y="${cell.y + 13}" text-anchor="end">${escape(cell.value)}</text>`,
  );
  const frame = `<rect class="frame" x="${object.x}" y="${object.y}" width="${object.width}" height="${object.height}" rx="${object.kind === 'variable' ? 10 : 4}"/>`;
  return `<g class="object ${object.kind}">${frame}${cells.join('')}<text class="title" x="${object.x + 8}" y="${object.y + 15}">${escape(object.title)}</text></g>`;
}

function drawing(picture: MemoryPicture): string {
  const { width, height } = picture;
  const arrows = picture.arrows.map((a) => `<path class="points${a.isNew ? ' new' : ''}${a.isDangling ? ' dangling' : ''}" d="${escape(a.path)}" marker-end="url(#tip)"/>`);
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(`Memory: ${picture.text.join('; ')}`)}">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0L8,4L0,8z"/></marker></defs>
${picture.objects.map(box).join('\n')}${arrows.join('\n')}</svg>`;
}

function page(picture: MemoryPicture | undefined): string {
  const width = picture?.width ?? 0;
  const nonce = String(Math.random()).slice(2);
  const body = picture === undefined ? '<p>At this step no variable leads to memory.</p>' : drawing(picture);
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Memory at the step</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'">
<style nonce="${nonce}">
  body { font: var(--vscode-font-size) var(--vscode-font-family); color: var(--vscode-foreground); padding: 4px 8px }
  svg { display: block; width: 100%; height: auto; max-width: ${width}px; min-width: ${Math.round(width * 0.85)}px }
  text { font: 12px var(--vscode-editor-font-family), monospace; fill: var(--vscode-foreground) }
  .frame { fill: var(--vscode-editorWidget-background); stroke: var(--vscode-descriptionForeground) }
  .heap .frame { stroke: var(--vscode-charts-blue) } .outside .frame { stroke: var(--vscode-charts-purple) }
  .freed .frame, .ended .frame { stroke: var(--vscode-errorForeground); stroke-dasharray: 5 3; stroke-width: 1.5 }
  .freed .title, .ended .title { fill: var(--vscode-errorForeground); text-decoration: line-through }
  .title { font-weight: 600 } .member, .more { fill: var(--vscode-descriptionForeground) } .null { font-weight: 600 }
  .uninitialised { fill: var(--vscode-errorForeground); font-style: italic } .open { fill: var(--vscode-editorWarning-foreground); font-style: italic }
  rect.new { fill: var(--vscode-editor-findMatchHighlightBackground, #ea5c0055) }
  .points { fill: none; stroke: var(--vscode-foreground); stroke-width: 1.3 } .points.new { stroke: var(--vscode-charts-orange); stroke-width: 2.2 }
  .points.dangling { stroke: var(--vscode-errorForeground); stroke-dasharray: 4 3 } #tip path { fill: var(--vscode-foreground) }
</style></head><body>${body}</body></html>`;
}
