/** The one open counterexample: its steps, which of them is current, and where they are after edits. Draws nothing. */
import * as vscode from 'vscode';
import { range } from '../functions';
import type { Step, Trace } from '../protocol';

/** A step with its place in the text of now. */
export interface PlacedStep {
  step: Step;
  uri: vscode.Uri;
  range: vscode.Range;
  /** The text of this place has been edited since the path was found. */
  touched: boolean;
}

export class OpenTrace implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** Another trace, another current step, or moved places. */
  readonly onDidChange = this.changed.event;
  private readonly subscription: vscode.Disposable;

  trace: Trace | undefined;
  steps: PlacedStep[] = [];
  current = 0;
  /** Where the failure is now. */
  failure: PlacedStep | undefined;

  constructor() {
    this.subscription = vscode.workspace.onDidChangeTextDocument((event) => this.edited(event));
  }

  /** Opens a trace; `current` is an index into its steps. */
  open(trace: Trace, current = 0): void {
    this.trace = trace;
    // A step without a place stands where the step before it does.
    let place = { uri: vscode.Uri.parse(trace.uri), range: range(trace.range) };
    this.steps = trace.steps.map((step) => {
      if (step.uri !== null && step.range !== null) place = { uri: vscode.Uri.parse(step.uri), range: range(step.range) };
      return { step, ...place, touched: false };
    });
    const last: Step = { number: 0, depth: 0, kind: 'failure', text: '', uri: trace.uri, range: trace.range, values: [], picture: null };
    this.failure = { step: last, uri: vscode.Uri.parse(trace.uri), range: range(trace.range), touched: false };
    this.current = Math.max(0, Math.min(current, this.steps.length - 1));
    void vscode.commands.executeCommand('setContext', 'proofline.traceOpen', true);
    this.changed.fire();
  }

  close(): void {
    if (this.trace === undefined) return;
    this.trace = undefined;
    this.steps = [];
    this.failure = undefined;
    void vscode.commands.executeCommand('setContext', 'proofline.traceOpen', false);
    this.changed.fire();
  }

  /** Makes a step current and shows its place. */
  async go(index: number): Promise<void> {
    const placed = this.steps[index];
    if (placed === undefined) return;
    this.current = index;
    this.changed.fire();
    const visible = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === placed.uri.toString());
    const options = { preserveFocus: true, preview: true, ...(visible?.viewColumn === undefined ? {} : { viewColumn: visible.viewColumn }) };
    const editor = await vscode.window.showTextDocument(placed.uri, options);
    editor.selection = new vscode.Selection(placed.range.start, placed.range.start);
    editor.revealRange(placed.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  private edited(event: vscode.TextDocumentChangeEvent): void {
    if (this.trace === undefined || event.contentChanges.length === 0) return;
    const uri = event.document.uri.toString();
    let moved = false;
    for (const placed of this.failure === undefined ? this.steps : [...this.steps, this.failure]) {
      if (placed.uri.toString() !== uri) continue;
      // Later changes come first in the list and do not move what lies before them, so the order does not matter here.
      for (const change of event.contentChanges) moved = move(placed, change) || moved;
    }
    if (moved) this.changed.fire();
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }
}

/** Moves a place with an edit; says whether anything about it changed. */
function move(placed: PlacedStep, change: vscode.TextDocumentContentChangeEvent): boolean {
  const { start, end } = change.range;
  if (start.isAfterOrEqual(placed.range.end)) {
    // Behind the step; on its last line it may still change what the line says, but not the step's own text.
    return false;
  }
  if (end.isAfter(placed.range.start)) {
    const was = placed.touched;
    placed.touched = true;
    return !was;
  }
  const inserted = change.text.split('\n');
  const lines = inserted.length - 1 - (end.line - start.line);
  const shift = (p: vscode.Position): vscode.Position => {
    if (p.line !== end.line) return p.translate(lines, 0);
    const tail = inserted[inserted.length - 1] ?? '';
    const column = p.character - end.character + tail.length + (inserted.length === 1 ? start.character : 0);
    return new vscode.Position(p.line + lines, Math.max(0, column));
  };
  placed.range = new vscode.Range(shift(placed.range.start), shift(placed.range.end));
  return true;
}
