/** The status bar entry: how many functions of the current file are proved, violated, unknown; or what is wrong with the server. */
import * as vscode from 'vscode';
import { range, type Functions } from './functions';
import { explain, type FunctionState, type State } from './protocol';

/** What the server is doing, as the client knows it. */
export type ServerState = { kind: 'starting' } | { kind: 'running' } | { kind: 'stopped'; why: string };

const ICON: Record<State, string> = {
  queued: '$(watch)',
  running: '$(loading~spin)',
  proved: '$(pass)',
  asks: '$(arrow-circle-up)',
  violated: '$(error)',
  unknown: '$(question)',
  stale: '$(history)',
  'internal-error': '$(bug)',
};

/** First what needs attention. */
const ORDER: readonly State[] = ['violated', 'internal-error', 'unknown', 'stale', 'running', 'queued', 'asks', 'proved'];

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('proofline.status', vscode.StatusBarAlignment.Left, 40);
  private readonly subscriptions: vscode.Disposable[];
  private server: ServerState = { kind: 'starting' };

  constructor(private readonly functions: Functions) {
    this.item.name = 'Proofline';
    this.item.command = 'proofline.status';
    this.subscriptions = [functions.onDidChange(() => this.draw()), vscode.window.onDidChangeActiveTextEditor(() => this.draw())];
    this.draw();
  }

  set(server: ServerState): void {
    this.server = server;
    this.draw();
  }

  private draw(): void {
    const document = vscode.window.activeTextEditor?.document;
    if (this.server.kind === 'stopped') {
      this.item.text = '$(warning) Proofline';
      this.item.tooltip = this.server.why;
      this.item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
      this.item.show();
      return;
    }
    this.item.backgroundColor = undefined;
    if (document?.languageId !== 'c') return this.item.hide();
    if (this.server.kind === 'starting') {
      this.item.text = '$(loading~spin) Proofline';
      this.item.tooltip = 'Proofline is starting';
      return this.item.show();
    }
    const all = this.functions.of(document.uri);
    const count = (...states: State[]) => all.filter((f) => states.includes(f.state)).length;
    const parts: string[] = [];
    const part = (icon: string, n: number) => n > 0 && parts.push(`${icon} ${n}`);
    // While there is work: how much of it is done. The numbers behind it are of what is known so far.
    const open = count('queued', 'running');
    if (open > 0) parts.push(`$(loading~spin) ${all.length - open} of ${all.length}`);
    part('$(error)', count('violated'));
    part('$(bug)', count('internal-error'));
    part('$(question)', count('unknown'));
    part('$(history)', count('stale'));
    part('$(arrow-circle-up)', count('asks'));
    part('$(pass)', count('proved'));
    this.item.text = `Proofline ${parts.length === 0 ? '$(dash)' : parts.join(' ')}`;
    this.item.tooltip = this.table(all);
    this.item.accessibilityInformation = {
      label: `Proofline: ${open > 0 ? `${all.length - open} of ${all.length} functions done, ` : ''}${count('proved')} proved, ${count('asks')} need something of their callers, ${count('violated')} fail, ${count('unknown')} not decided`,
      role: 'button',
    };
    this.item.show();
  }

  private table(all: readonly FunctionState[]): vscode.MarkdownString {
    const text = new vscode.MarkdownString('', true);
    if (all.length === 0) return text.appendText('No function of this file has been verified.');
    for (const f of sorted(all).slice(0, 20)) text.appendMarkdown(`${ICON[f.state].replace('~spin', '')} \`${f.name}\` — `).appendText(explain(f)).appendMarkdown('  \n');
    if (all.length > 20) text.appendText(`… and ${all.length - 20} more`);
    return text;
  }

  /** The list behind the entry: choose a function to go to it. */
  async pick(): Promise<void> {
    if (this.server.kind === 'stopped') return void vscode.commands.executeCommand('proofline.explainStop');
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || editor.document.languageId !== 'c') return;
    type Item = vscode.QuickPickItem & { run: () => unknown };
    const items: Item[] = sorted(this.functions.of(editor.document.uri)).map((f) => ({
      label: `${ICON[f.state]} ${f.name}`,
      description: explain(f),
      run: () => {
        const place = range(f.selectionRange);
        editor.selection = new vscode.Selection(place.start, place.start);
        editor.revealRange(place, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        return vscode.window.showTextDocument(editor.document);
      },
    }));
    const act = (label: string, command: string): Item => ({ label, run: () => vscode.commands.executeCommand(command) });
    items.push({ label: '', kind: vscode.QuickPickItemKind.Separator, run: () => undefined });
    items.push(act('$(run-all) Verify this file again', 'proofline.verifyFile'), act('$(debug-stop) Stop verifying this file', 'proofline.cancelFile'));
    items.push(act('$(output) Show the server\'s log', 'proofline.showOutput'), act('$(debug-restart) Restart the server', 'proofline.restart'));
    const chosen = await vscode.window.showQuickPick(items, { title: 'Proofline: functions of this file', matchOnDescription: true });
    await chosen?.run();
  }

  dispose(): void {
    this.item.dispose();
    this.subscriptions.forEach((s) => s.dispose());
  }
}

function sorted(all: readonly FunctionState[]): FunctionState[] {
  return [...all].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.range.start.line - b.range.start.line);
}
