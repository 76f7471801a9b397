/** Opening, following and closing a counterexample. Keeps the open one true: it closes when its failure is gone and is renewed when the text changed. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Client } from '../client';
import { front } from '../front';
import type { FindingArgument, Trace } from '../protocol';
import { TraceDecorations } from './decorations';
import { MemoryView } from './memory';
import { OpenTrace } from './open';
import { TraceView } from './view';

/** A diagnostic of this server. */
type Found = vscode.Diagnostic & { data?: { finding?: string } };

export class Traces implements vscode.Disposable {
  readonly open = new OpenTrace();
  private readonly view = new TraceView(this.open);
  private readonly decorations = new TraceDecorations(this.open);
  private readonly memory = new MemoryView(this.open);
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly client: Client) {
    const command = (name: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(name, run);
    this.subscriptions = [
      command('proofline.showTrace', (argument?: FindingArgument) => this.show(argument)),
      command('proofline.nextStep', () => this.open.go(Math.min(this.open.current + 1, this.open.steps.length - 1))),
      command('proofline.previousStep', () => this.open.go(Math.max(this.open.current - 1, 0))),
      command('proofline.goToStep', (index: number) => this.open.go(index)),
      command('proofline.closeTrace', () => this.open.close()),
      command('proofline.copyTrace', () => this.open.trace && vscode.env.clipboard.writeText(this.open.trace.text)),
      client.onDidPublish((uri) => void this.published(uri)),
      client.onDidStop(() => this.open.close()),
    ];
  }

  private async show(argument?: FindingArgument): Promise<void> {
    const finding = argument ?? (await this.choose());
    if (finding === undefined) return;
    const trace = await this.client.command<Trace>('proofline.trace', finding);
    if (trace === null || trace === undefined) return void vscode.window.showInformationMessage('Proofline: that failure is not there any more.');
    this.open.open(trace);
    void vscode.commands.executeCommand('setContext', 'proofline.traceShown', true);
    await this.view.show();
    await this.open.go(0);
  }

  /** The finding of the open trace. */
  opened(): FindingArgument | undefined {
    const { trace } = this.open;
    return trace === undefined ? undefined : { uri: trace.uri, finding: trace.finding };
  }

  /** The finding that a command without an argument means: that of the open trace while the cursor is at its current step, or else the nearest one. */
  async meant(): Promise<FindingArgument | undefined> {
    const editor = await front();
    const step = this.open.steps[this.open.current];
    const isThere = step !== undefined && editor?.document.uri.toString() === step.uri.toString() && editor.selection.active.line === step.range.start.line;
    return (isThere ? this.opened() : undefined) ?? (await this.choose());
  }

  /** The finding at the cursor, or the nearest in the file. Another file's is never meant, though its trace be open. */
  private async choose(): Promise<FindingArgument | undefined> {
    const editor = await front();
    const found = editor === undefined ? [] : findings(editor.document.uri);
    if (editor === undefined || found.length === 0) {
      void vscode.window.showInformationMessage(`Proofline: ${this.nothingIn(editor?.document.uri)}`);
      return undefined;
    }
    const line = editor.selection.active.line;
    const distance = (d: vscode.Diagnostic) => Math.abs(d.range.start.line - line);
    const nearest = found.reduce((a, b) => (distance(b.diagnostic) < distance(a.diagnostic) ? b : a));
    return { uri: editor.document.uri.toString(), finding: nearest.finding };
  }

  /** Why no failure of this file can be meant, and which file the open trace is of. */
  private nothingIn(uri: vscode.Uri | undefined): string {
    if (uri === undefined) return 'no C file is open in the editor.';
    const nothing = `no failure with a counterexample in ${path.basename(uri.path)}.`;
    const { failure } = this.open;
    return failure === undefined || failure.uri.toString() === uri.toString() ? nothing : `${nothing} The open counterexample is of ${path.basename(failure.uri.path)}.`;
  }

  /** New diagnostics of a file are here: is the open trace's failure among them? */
  private async published(uri: vscode.Uri): Promise<void> {
    const { trace, failure } = this.open;
    if (trace === undefined || failure === undefined || failure.uri.toString() !== uri.toString()) return;
    const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    const all = findings(uri);
    const same = all.filter((f) => code(f.diagnostic) === trace.check && f.diagnostic.range.start.line === failure.range.start.line);
    const match = all.find((f) => f.finding === trace.finding) ?? same[0];
    if (match === undefined) {
      this.open.close();
      return void vscode.window.setStatusBarMessage('$(pass) Proofline: the failure whose counterexample was open is gone', 8000);
    }
    // The same failure in a newer text: the path may be another one now.
    if (document === undefined || trace.version === undefined || trace.version === document.version) return;
    const newer = await this.client.command<Trace>('proofline.trace', { uri: uri.toString(), finding: match.finding }).catch(() => undefined);
    if (newer === null || newer === undefined || this.open.trace !== trace) return;
    if (document.version !== newer.version) return;
    this.open.open(newer, this.open.current);
  }

  dispose(): void {
    this.subscriptions.forEach((s) => s.dispose());
    this.view.dispose();
    this.decorations.dispose();
    this.memory.dispose();
    this.open.dispose();
  }
}

/** The findings with a counterexample in a file. */
export function findings(uri: vscode.Uri): { diagnostic: Found; finding: string }[] {
  return vscode.languages.getDiagnostics(uri).flatMap((d: Found) => {
    const finding = d.source === 'proofline' ? d.data?.finding : undefined;
    return finding === undefined ? [] : [{ diagnostic: d, finding }];
  });
}

/** The check that a diagnostic is of. */
export function code(d: vscode.Diagnostic): string {
  return typeof d.code === 'object' ? String(d.code.value) : String(d.code ?? '');
}

