/** The tree of an open counterexample: steps under the call they belong to, with the values that the text of a step does not say. */
import * as vscode from 'vscode';
import type { OpenTrace } from './open';

/** A step by its index in the open trace, with the steps inside the call that it makes. */
interface Node {
  index: number;
  parent: Node | undefined;
  children: Node[];
}

const ICON: Record<string, string> = {
  input: 'arrow-circle-right',
  branch: 'git-branch',
  assign: 'symbol-variable',
  call: 'debug-step-into',
  return: 'debug-step-out',
  failure: 'error',
  other: 'circle-small',
};

export class TraceView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Node>;
  private readonly subscription: vscode.Disposable;
  private roots: Node[] = [];
  private nodes: Node[] = [];
  private shape: unknown;

  constructor(private readonly open: OpenTrace) {
    this.view = vscode.window.createTreeView('proofline.trace', { treeDataProvider: this, showCollapseAll: true });
    this.subscription = open.onDidChange(() => this.refresh());
  }

  private refresh(): void {
    if (this.shape !== this.open.trace) {
      this.shape = this.open.trace;
      this.build();
    }
    const trace = this.open.trace;
    this.view.message = trace === undefined ? undefined : plain(trace.message) + (trace.help ? ` — ${plain(trace.help)}` : '');
    this.view.description = trace === undefined ? undefined : trace.check;
    this.view.badge = undefined;
    this.changed.fire(undefined);
    const node = this.nodes[this.open.current];
    if (node !== undefined && this.view.visible) void this.view.reveal(node, { select: true, focus: false }).then(undefined, () => undefined);
  }

  /** Brings the view to the front. */
  async show(): Promise<void> {
    await vscode.commands.executeCommand('proofline.trace.focus', { preserveFocus: true });
    const node = this.nodes[this.open.current];
    if (node !== undefined) await this.view.reveal(node, { select: true, focus: false }).then(undefined, () => undefined);
  }

  private build(): void {
    this.roots = [];
    this.nodes = [];
    /** The calls around the next step, outermost first, with their depth. */
    const calls: { node: Node; depth: number }[] = [];
    this.open.steps.forEach(({ step }, index) => {
      while (calls.length > 0 && calls[calls.length - 1]!.depth >= step.depth) calls.pop();
      const parent = calls[calls.length - 1]?.node;
      const node: Node = { index, parent, children: [] };
      (parent?.children ?? this.roots).push(node);
      this.nodes.push(node);
      if (step.kind === 'call') calls.push({ node, depth: step.depth });
    });
  }

  getChildren(node?: Node): Node[] {
    return node?.children ?? this.roots;
  }

  getParent(node: Node): Node | undefined {
    return node.parent;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const placed = this.open.steps[node.index];
    if (placed === undefined) return new vscode.TreeItem('');
    const { step } = placed;
    const state = node.children.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(`${step.number}: ${plain(step.text)}`, state);
    const known = plain(step.text);
    const more = step.values.map((v) => `${v.name} = ${v.value}`).filter((v) => !known.includes(v));
    const elsewhere = placed.uri.toString() !== this.open.trace?.uri;
    const line = `${elsewhere ? `${vscode.workspace.asRelativePath(placed.uri)}:` : 'line '}${placed.range.start.line + 1}`;
    item.description = [...more, line, ...(placed.touched ? ['edited since'] : [])].join(' · ');
    const current = node.index === this.open.current;
    const color = step.kind === 'failure' ? new vscode.ThemeColor('list.errorForeground') : current ? new vscode.ThemeColor('proofline.stepForeground') : undefined;
    item.iconPath = new vscode.ThemeIcon(current && step.kind !== 'failure' ? 'debug-stackframe' : (ICON[step.kind] ?? 'circle-small'), color);
    const tooltip = new vscode.MarkdownString();
    tooltip.appendCodeblock([known, ...step.values.map((v) => `${v.name} = ${v.value}`)].join('\n'), 'c');
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: `Step ${step.number} of ${this.open.steps.length}, ${step.kind}: ${known}, ${line}` };
    item.command = { command: 'proofline.goToStep', title: 'Go to the step', arguments: [node.index] };
    item.contextValue = step.kind;
    return item;
  }

  dispose(): void {
    this.subscription.dispose();
    this.view.dispose();
    this.changed.dispose();
  }
}

/** A step's text without the marks of code. */
export function plain(text: string): string {
  return text.replaceAll('`', '');
}
