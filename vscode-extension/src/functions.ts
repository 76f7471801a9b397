/** The functions of every known file with their states, as the server last said. The one source of gutter, status bar and Testing view. */
import * as vscode from 'vscode';
import type { FunctionState, FunctionsParams } from './protocol';

export class Functions implements vscode.Disposable {
  private readonly files = new Map<string, FunctionState[]>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  /** A file's functions are different now. */
  readonly onDidChange = this.changed.event;

  /** Takes in a notification of the server. */
  update(params: FunctionsParams): void {
    const uri = vscode.Uri.parse(params.uri);
    if (params.functions.length === 0) this.files.delete(uri.toString());
    else this.files.set(uri.toString(), params.functions);
    this.changed.fire(uri);
  }

  /** A file was closed. What the server had not finished has no verdict; what it had stays. */
  closed(uri: vscode.Uri): void {
    const all = this.files.get(uri.toString());
    if (all === undefined || !all.some(isBusy)) return;
    this.files.set(uri.toString(), all.map((f) => (isBusy(f) ? { ...f, state: 'stale', headline: 'not verified: the file was closed' } : f)));
    this.changed.fire(uri);
  }

  /** A file is not there any more. */
  forget(uri: vscode.Uri): void {
    if (this.files.delete(uri.toString())) this.changed.fire(uri);
  }

  /** Forgets everything: the server is gone. */
  clear(): void {
    const uris = [...this.files.keys()];
    this.files.clear();
    for (const uri of uris) this.changed.fire(vscode.Uri.parse(uri));
  }

  of(uri: vscode.Uri): readonly FunctionState[] {
    return this.files.get(uri.toString()) ?? [];
  }

  /** The function around a position. */
  at(uri: vscode.Uri, position: vscode.Position): FunctionState | undefined {
    return this.of(uri).find((f) => range(f.range).contains(position));
  }

  uris(): vscode.Uri[] {
    return [...this.files.keys()].map((uri) => vscode.Uri.parse(uri));
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** There is work to do on a function. */
export function isBusy(f: FunctionState): boolean {
  return f.state === 'queued' || f.state === 'running';
}

/** The protocol's range as VS Code's. */
export function range(r: { start: { line: number; character: number }; end: { line: number; character: number } }): vscode.Range {
  return new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
}
