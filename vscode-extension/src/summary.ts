/** The panel of a function's summary: what it requires and ensures, what was proved, and what that rests on. Renewed when the verdict changes. */
import * as vscode from 'vscode';
import type { Client } from './client';
import { front } from './front';
import { range, type Functions } from './functions';
import { describe, type FunctionArgument, type Summary } from './protocol';

export class SummaryPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: Summary | undefined;
  private readonly subscriptions: vscode.Disposable[];
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    functions: Functions,
  ) {
    this.subscriptions = [
      vscode.commands.registerCommand('proofline.showSummary', (argument?: FunctionArgument) => this.show(argument)),
      functions.onDidChange((uri) => {
        if (this.panel === undefined || this.shown === undefined || this.shown.uri !== uri.toString()) return;
        clearTimeout(this.renewal);
        const { uri: file, name } = this.shown;
        this.renewal = setTimeout(() => void this.load({ uri: file, function: name }).catch(() => undefined), 200);
      }),
    ];
  }

  private async show(argument?: FunctionArgument): Promise<void> {
    const editor = argument === undefined ? await front() : undefined;
    const target =
      argument ??
      (editor === undefined
        ? undefined
        : { uri: editor.document.uri.toString(), position: { line: editor.selection.active.line, character: editor.selection.active.character } });
    if (target === undefined) return;
    const loaded = await this.load(target).catch(() => false);
    if (!loaded) void vscode.window.showInformationMessage('Proofline: there is no function here.');
  }

  /** Asks for a summary and shows it; false when there is none. */
  private async load(target: object): Promise<boolean> {
    const summary = await this.client.command<Summary>('proofline.summary', target);
    if (summary === null || summary === undefined) return false;
    this.shown = summary;
    if (this.panel === undefined) {
      const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      this.panel = vscode.window.createWebviewPanel('proofline.summary', '', beside, { enableScripts: true, enableCommandUris: false });
      this.panel.onDidDispose(() => {
        this.panel = undefined;
        this.shown = undefined;
      });
      this.panel.webview.onDidReceiveMessage((link: string) => void (link === 'proof' ? this.showProof() : this.goThere()));
    }
    this.panel.title = `Summary: ${summary.name}`;
    void vscode.commands.executeCommand('setContext', 'proofline.summaryShown', true);
    this.panel.webview.html = page(summary);
    return true;
  }

  private async showProof(): Promise<void> {
    if (this.shown === undefined) return;
    const argument: FunctionArgument = { uri: this.shown.uri, function: this.shown.name };
    await vscode.commands.executeCommand('proofline.showProof', argument);
  }

  private async goThere(): Promise<void> {
    if (this.shown === undefined) return;
    const visible = vscode.window.visibleTextEditors.find((e) => e.document.uri.toString() === this.shown?.uri);
    const column = visible?.viewColumn ?? vscode.ViewColumn.One;
    await vscode.window.showTextDocument(vscode.Uri.parse(this.shown.uri), { viewColumn: column, ...(this.shown.range === null ? {} : { selection: range(this.shown.range) }) });
  }

  dispose(): void {
    clearTimeout(this.renewal);
    this.panel?.dispose();
    this.subscriptions.forEach((s) => s.dispose());
  }
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Text whose parts between backticks are code; without any, all of it is when `formula` says so. */
function prose(text: string, formula: boolean): string {
  if (!text.includes('`')) return formula ? `<code>${escape(text)}</code>` : escape(text);
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? `<code>${escape(part)}</code>` : escape(part)))
    .join('');
}

/** A heading with a list of formulas; `none` is what an empty list means. */
function list(title: string, items: string[], none: string, formulas = true): string {
  const body = items.length === 0 ? `<p class="none">${none}</p>` : `<ul>${items.map((i) => `<li>${prose(i, formulas)}</li>`).join('')}</ul>`;
  return `<h2>${title}</h2>${body}`;
}

const MARK: Record<string, string> = { proved: '✓', asks: '↑', violated: '✗', unknown: '?', stale: '…', running: '…', queued: '…', 'internal-error': '!' };

function page(s: Summary): string {
  const nonce = String(Math.random()).slice(2);
  const row = (c: Summary['checks'][number]) => `<tr><td><code>${escape(c.check)}</code></td><td>${c.proved || ''}</td><td class="bad">${c.violated || ''}</td><td>${c.asked || ''}</td><td>${c.unknown || ''}</td></tr>`;
  const checks =
    s.checks.length === 0
      ? '<p class="none">Nothing in this function can go wrong in a way that is checked.</p>'
      : `<table><caption class="none">Places by check</caption><tr><th scope="col">check</th><th scope="col">holds</th><th scope="col">fails</th><th scope="col">up to callers</th><th scope="col">not decided</th></tr>${s.checks.map(row).join('')}</table>`;
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${escape(s.name)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<style nonce="${nonce}">
  body { font: var(--vscode-font-size) var(--vscode-font-family); color: var(--vscode-foreground); padding: 0 1.2em 2em; line-height: 1.5 }
  a:focus-visible { outline: 1px solid var(--vscode-focusBorder) }
  h1 { font-size: 1.35em; font-weight: 600; margin: .8em 0 .2em } h1 code { font-size: 1em }
  h2 { font-size: .85em; text-transform: uppercase; letter-spacing: .06em; margin: 1.4em 0 .3em; color: var(--vscode-descriptionForeground) }
  code { font-family: var(--vscode-editor-font-family); color: var(--vscode-foreground) } ul { margin: 0; padding-left: 1.3em }
  .none { margin: 0; color: var(--vscode-descriptionForeground) } a { color: var(--vscode-textLink-foreground); cursor: pointer }
  table { border-collapse: collapse } th, td { text-align: left; padding: .15em 1em .15em 0; border-bottom: 1px solid var(--vscode-widget-border, transparent) } th { font-weight: normal; color: var(--vscode-descriptionForeground) }
  .state { font-weight: 600 } .proved { color: var(--vscode-testing-iconPassed) } .violated, .bad, .internal-error { color: var(--vscode-errorForeground) } .unknown { color: var(--vscode-editorWarning-foreground) }
</style></head><body>
<h1><a id="go" role="link" tabindex="0"><code>${escape(s.name)}</code></a></h1>
<p class="state ${s.state}"><span aria-hidden="true">${MARK[s.state] ?? ''}</span> ${escape(describe(s))}</p>
<p><a id="proof" role="link" tabindex="0">Why, place by place</a></p>
${list('Requires', s.requires, 'No condition was inferred. The verdict is about the calls that were analysed.')}
${list('Ensures', s.ensures, 'None was inferred.')}
${list('Reads', s.reads, 'Nothing but its arguments.')}
${list('Writes', s.writes, 'Nothing.')}
<h2>Checks</h2>${checks}
${list('Rests on', s.restsOn, 'No assumption was recorded.', false)}
<script nonce="${nonce}">const api = acquireVsCodeApi();
for (const id of ['go', 'proof']) {
  const link = document.getElementById(id);
  link.addEventListener('click', () => api.postMessage(id));
  link.addEventListener('keydown', (e) => (e.key === 'Enter' || e.key === ' ') && api.postMessage(id));
}</script>
</body></html>`;
}
