/** The view "Proof": why a function is proved, line by line, each with its place. It is renewed while the text changes. */
import * as vscode from 'vscode';
import type { Client } from './client';
import { front } from './front';
import { range, type Functions } from './functions';
import type { FunctionArgument, Proof, ProofLine, State } from './protocol';

/** Icons differ in shape, not only in colour. */
const ICON: Record<ProofLine['kind'], { icon: string; color?: string }> = {
  needs: { icon: 'arrow-circle-up', color: 'charts.blue' },
  invariant: { icon: 'sync' },
  callee: { icon: 'debug-step-out' },
  proved: { icon: 'pass', color: 'testing.iconPassed' },
  asked: { icon: 'arrow-circle-up', color: 'charts.blue' },
  open: { icon: 'question', color: 'editorWarning.foreground' },
  failing: { icon: 'error', color: 'list.errorForeground' },
  ensures: { icon: 'flag' },
  'rests-on': { icon: 'info' },
};

const STATE: Partial<Record<State, string>> = { proved: 'pass', asks: 'arrow-circle-up', violated: 'error', unknown: 'question' };

/** The heading with the function, or a line of its proof. */
type Node = 'heading' | ProofLine;

export class ProofView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Node>;
  private readonly subscriptions: vscode.Disposable[];
  private shown: Proof | undefined;
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    functions: Functions,
  ) {
    this.view = vscode.window.createTreeView('proofline.proof', { treeDataProvider: this });
    this.subscriptions = [
      this.view,
      vscode.commands.registerCommand('proofline.showProof', (argument?: FunctionArgument) => this.show(argument)),
      vscode.commands.registerCommand('proofline.closeProof', () => this.set(undefined)),
      vscode.commands.registerCommand('proofline.copyProof', () => this.shown && vscode.env.clipboard.writeText(this.shown.text)),
      vscode.commands.registerCommand('proofline.goToProofLine', (line: Node) => this.go(line)),
      functions.onDidChange((uri) => {
        if (this.shown?.uri !== uri.toString()) return;
        clearTimeout(this.renewal);
        const { uri: file, name } = this.shown;
        this.renewal = setTimeout(() => void this.load({ uri: file, function: name }).catch(() => undefined), 200);
      }),
      client.onDidStop(() => this.set(undefined)),
    ];
  }

  private async show(argument?: FunctionArgument): Promise<void> {
    const editor = argument === undefined ? await front() : undefined;
    const here = editor && { uri: editor.document.uri.toString(), position: { line: editor.selection.active.line, character: editor.selection.active.character } };
    const target = argument ?? here;
    if (target === undefined) return;
    const loaded = await this.load(target).catch(() => false);
    if (!loaded) return void vscode.window.showInformationMessage('Proofline: there is no function here.');
    await vscode.commands.executeCommand('proofline.proof.focus', { preserveFocus: argument === undefined });
  }

  private async load(target: object): Promise<boolean> {
    const proof = await this.client.command<Proof>('proofline.proof', target);
    if (proof === null || proof === undefined) return false;
    this.set(proof);
    return true;
  }

  private set(proof: Proof | undefined): void {
    this.shown = proof;
    this.view.description = proof?.name;
    void vscode.commands.executeCommand('setContext', 'proofline.proofOpen', proof !== undefined);
    this.changed.fire(undefined);
  }

  private async go(line: Node): Promise<void> {
    if (this.shown === undefined) return;
    if (line !== 'heading' && line.finding !== null) return void (await vscode.commands.executeCommand('proofline.showTrace', { uri: this.shown.uri, finding: line.finding }));
    const place = line === 'heading' ? this.shown : line;
    if (place.uri === null || place.range === null) return;
    const uri = vscode.Uri.parse(place.uri);
    const visible = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
    const selection = range(place.range);
    await vscode.window.showTextDocument(uri, { preserveFocus: true, selection, ...(visible?.viewColumn === undefined ? {} : { viewColumn: visible.viewColumn }) });
  }

  getChildren(node?: Node): Node[] {
    return node !== undefined || this.shown === undefined ? [] : ['heading', ...this.shown.lines];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = new vscode.TreeItem('');
    item.command = { command: 'proofline.goToProofLine', title: 'Go to its place', arguments: [node] };
    if (node === 'heading') {
      item.label = this.shown?.headline ?? '';
      item.iconPath = new vscode.ThemeIcon(STATE[this.shown?.state ?? 'unknown'] ?? 'watch');
      item.accessibilityInformation = { label: `${this.shown?.name}: ${this.shown?.headline}` };
      return item;
    }
    const { icon, color } = ICON[node.kind];
    const line = node.range === null ? '' : `line ${node.range.start.line + 1}`;
    const known = node.known.length === 0 ? '' : `here ${node.known.join(', ')}`;
    item.label = `${node.word}: ${node.text}`;
    item.description = [known, line].filter((part) => part !== '').join(' · ');
    item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
    item.tooltip = [node.text, node.because, known].filter((part) => part !== '').join('\n');
    item.accessibilityInformation = { label: [`${node.word}: ${node.text}`, node.because, known, line].filter((part) => part !== '').join(', ') };
    item.contextValue = node.kind;
    return item;
  }

  dispose(): void {
    clearTimeout(this.renewal);
    this.subscriptions.forEach((s) => s.dispose());
    this.changed.dispose();
  }
}
