/** The Testing view: every function with its verdict, run and stop. Its items have no range on purpose: the gutter has its own icons already. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Client } from './client';
import type { Functions } from './functions';
import { isBusy, range } from './functions';
import { describe, type FunctionArgument, type FunctionState } from './protocol';
import { findings } from './trace';

export class Testing implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('proofline', 'Proofline');
  private readonly subscriptions: vscode.Disposable[];
  private readonly items = new Map<string, { uri: vscode.Uri; name: string }>();
  /** What was last told to the view, per item: only changes are told. */
  private readonly told = new Map<string, string>();
  private run: vscode.TestRun | undefined;
  /** The run that a user asked for: it ends when that is done. */
  private asked: vscode.TestRun | undefined;
  private readonly profile: vscode.TestRunProfile;

  constructor(
    private readonly client: Client,
    private readonly functions: Functions,
  ) {
    this.profile = this.controller.createRunProfile('Verify', vscode.TestRunProfileKind.Run, (request, token) => this.verify(request, token), true);
    this.controller.refreshHandler = async () => this.functions.uris().forEach((uri) => this.update(uri));
    this.subscriptions = [
      functions.onDidChange((uri) => this.update(uri)),
      vscode.commands.registerCommand('proofline.goToFunction', async (item?: vscode.TestItem) => {
        const target = item === undefined ? undefined : this.items.get(item.id);
        const uri = target?.uri ?? item?.uri;
        if (uri === undefined) return;
        const f = this.functions.of(uri).find((g) => g.name === target?.name);
        await vscode.window.showTextDocument(uri, f === undefined ? {} : { selection: range(f.selectionRange) });
      }),
    ];
  }

  private update(uri: vscode.Uri): void {
    const all = this.functions.of(uri);
    const id = uri.toString();
    if (all.length === 0) {
      this.controller.items.delete(id);
      for (const [key, item] of this.items) if (item.uri.toString() === id) this.forget(key);
      return this.finish();
    }
    let file = this.controller.items.get(id);
    if (file === undefined) {
      file = this.controller.createTestItem(id, path.basename(uri.fsPath), uri);
      const folder = path.dirname(vscode.workspace.asRelativePath(uri, false));
      file.description = folder === '.' ? undefined : folder;
      this.controller.items.add(file);
    }
    const present = new Set<string>();
    all.forEach((f, index) => {
      const key = `${id}#${f.name}`;
      present.add(key);
      let item = file.children.get(key);
      if (item === undefined) {
        item = this.controller.createTestItem(key, f.name, uri);
        file.children.add(item);
        this.items.set(key, { uri, name: f.name });
      }
      item.sortText = String(index).padStart(6, '0');
      // The view adds the time itself.
      item.description = f.headline;
      // The view cuts it off; its hover and the output of the run have it whole.
      item.error = f.state === 'unknown' ? (f.reason ?? f.headline) : undefined;
      item.busy = f.state === 'running';
      this.tell(item, f, uri);
    });
    file.children.forEach((item) => {
      if (present.has(item.id)) return;
      file.children.delete(item.id);
      this.forget(item.id);
    });
    this.finish();
  }

  private forget(key: string): void {
    this.items.delete(key);
    this.told.delete(key);
  }

  /** Reports a state that differs from the one reported before. */
  private tell(item: vscode.TestItem, f: FunctionState, uri: vscode.Uri): void {
    const now = `${f.state}/${f.headline}`;
    if (this.told.get(item.id) === now) return;
    this.told.set(item.id, now);
    if (f.state === 'stale') return this.controller.invalidateTestResults(item);
    this.run ??= this.controller.createTestRun(new vscode.TestRunRequest(undefined, undefined, this.profile, false, true), 'Proofline', false);
    const run = this.run;
    switch (f.state) {
      case 'queued':
        return run.enqueued(item);
      case 'running':
        return run.started(item);
      case 'proved':
      case 'asks':
        return run.passed(item, f.timeMs);
      case 'violated':
        return run.failed(item, messages(uri, f), f.timeMs);
      case 'internal-error':
        return run.errored(item, new vscode.TestMessage(describe(f)), f.timeMs);
      case 'unknown':
        // Neither passed nor failed: no verdict.
        run.appendOutput(`${f.name}: ${f.reason ?? f.headline}\r\n`, undefined, item);
        return run.skipped(item);
    }
  }

  /** Ends the run when nothing is on its way. */
  private finish(): void {
    const busy = this.functions.uris().some((uri) => this.functions.of(uri).some(isBusy));
    if (busy || this.run === undefined || this.run === this.asked) return;
    this.run.end();
    this.run = undefined;
  }

  /** Run: asks the server to verify again, and waits until it has answered or the user has stopped it. */
  private async verify(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const wanted: FunctionArgument[] = [];
    const chosen: vscode.TestItem[] = [];
    if (request.include === undefined) this.controller.items.forEach((item) => chosen.push(item));
    else chosen.push(...request.include);
    const excluded = new Set((request.exclude ?? []).map((item) => item.id));
    for (const item of chosen) {
      if (excluded.has(item.id)) continue;
      const f = this.items.get(item.id);
      if (f !== undefined) wanted.push({ uri: f.uri.toString(), function: f.name });
      else wanted.push({ uri: item.id });
    }
    const stop = token.onCancellationRequested(() => {
      for (const target of wanted) void this.client.command('proofline.cancel', target).catch(() => undefined);
    });
    // A request for a run must be answered by a run, or the view shows none.
    const run = this.controller.createTestRun(request, 'Proofline', false);
    const keys = new Set(wanted.flatMap((w) => (w.function === undefined ? [...this.items.keys()].filter((k) => k.startsWith(`${w.uri}#`)) : [`${w.uri}#${w.function}`])));
    this.run?.end();
    this.run = run;
    this.asked = run;
    try {
      for (const key of keys) this.told.delete(key);
      await Promise.all(wanted.map((target) => this.ask(target, token).catch((error: unknown) => run.appendOutput(`${nameOf(target)}: ${error instanceof Error ? error.message : String(error)}\r\n`))));
      await this.settled(keys, token);
      // A verdict that is as it was before comes without news.
      for (const uri of new Set(wanted.map((target) => target.uri))) this.update(vscode.Uri.parse(uri));
    } finally {
      stop.dispose();
      run.end();
      if (this.run === run) this.run = undefined;
    }
  }

  /** Has a file or a function verified. The server knows open files only, and verifies a file when it is opened. */
  private async ask(target: FunctionArgument, token: vscode.CancellationToken): Promise<void> {
    const isKnown = vscode.workspace.textDocuments.some((document) => document.uri.toString() === target.uri);
    if (isKnown) await this.client.command('proofline.verify', target, token);
    else await this.opened(vscode.Uri.parse(target.uri), token);
  }

  /** Opens a file, without showing it, until the server says what is in it. */
  private async opened(uri: vscode.Uri, token: vscode.CancellationToken): Promise<void> {
    const waiting: vscode.Disposable[] = [];
    const known = new Promise<void>((resolve) => {
      waiting.push(this.functions.onDidChange((changed) => changed.toString() === uri.toString() && resolve()));
      waiting.push(token.onCancellationRequested(() => resolve()));
    });
    try {
      await vscode.workspace.openTextDocument(uri);
      await known;
    } catch {
      this.functions.forget(uri);
      throw new Error('the file cannot be opened any more');
    } finally {
      waiting.forEach((subscription) => subscription.dispose());
    }
  }

  /** Until none of these functions is queued or running. */
  private settled(keys: Set<string>, token: vscode.CancellationToken): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        for (const key of keys) {
          const item = this.items.get(key);
          const f = item === undefined ? undefined : this.functions.of(item.uri).find((g) => g.name === item.name);
          if (f !== undefined && isBusy(f)) return false;
        }
        return true;
      };
      const end = () => {
        changes.dispose();
        cancelled.dispose();
        clearTimeout(timer);
        resolve();
      };
      const changes = this.functions.onDidChange(() => done() && end());
      const cancelled = token.onCancellationRequested(end);
      // The states that follow the request may come a moment later.
      const timer = setTimeout(() => done() && end(), 500);
    });
  }

  dispose(): void {
    this.run?.end();
    this.subscriptions.forEach((s) => s.dispose());
    this.controller.dispose();
  }
}

/** A function or a file, as the output of a run names it. */
function nameOf(target: FunctionArgument): string {
  return target.function ?? path.basename(vscode.Uri.parse(target.uri).path);
}

/** What failed in a function. Without a place: the editor shows it there already. */
function messages(uri: vscode.Uri, f: FunctionState): vscode.TestMessage[] {
  return findings(uri)
    .filter((found) => range(f.range).contains(found.diagnostic.range.start))
    .map((found) => new vscode.TestMessage(`line ${found.diagnostic.range.start.line + 1}: ${found.diagnostic.message}`));
}
