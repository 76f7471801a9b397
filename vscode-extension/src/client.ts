/** The language client: starts `proofline lsp`, says what this extension can show, and passes on what the server says. */
import * as vscode from 'vscode';
import { LanguageClient, RevealOutputChannelOn, State, type Executable, type StaticFeature } from 'vscode-languageclient/node';
import { CLIENT_COMMANDS, type FunctionsParams } from './protocol';

export class Client implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly output = vscode.window.createOutputChannel('Proofline', { log: true });
  private readonly functions = new vscode.EventEmitter<FunctionsParams>();
  private readonly published = new vscode.EventEmitter<vscode.Uri>();
  private readonly stopped = new vscode.EventEmitter<void>();
  /** The server sent the states of a file's functions. */
  readonly onFunctions = this.functions.event;
  /** The diagnostics of a file are new. */
  readonly onDidPublish = this.published.event;
  /** The server ended, on request or by itself. */
  readonly onDidStop = this.stopped.event;

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Starts the server; rejects with a reason when it does not come up. */
  async start(program: string): Promise<void> {
    const store = vscode.workspace.getConfiguration('proofline').get<string>('store', '').trim();
    const named = store === '' ? {} : { PROOFLINE_STORE: store };
    const executable: Executable = { command: program, args: ['lsp'], options: { env: { ...process.env, ...named } } };
    const client = new LanguageClient(
      'proofline',
      'Proofline',
      { run: executable, debug: executable },
      {
        documentSelector: [
          { scheme: 'file', language: 'c' },
          { scheme: 'file', pattern: '**/*.h' },
        ],
        outputChannel: this.output,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: settings(vscode.workspace.getConfiguration('proofline')),
        synchronize: {
          configurationSection: 'proofline',
          fileEvents: [
            vscode.workspace.createFileSystemWatcher('**/*.{c,h}'),
            vscode.workspace.createFileSystemWatcher('**/{compile_commands.json,compile_flags.txt}'),
          ],
        },
        middleware: {
          workspace: {
            // The server asks for its own section only.
            configuration: async (params, token, next) => {
              const answers = await next(params, token);
              return Array.isArray(answers) ? answers.map((section: Section) => settings(section)) : answers;
            },
          },
          handleDiagnostics: (uri, diagnostics, next) => {
            next(uri, once(diagnostics));
            this.published.fire(uri);
          },
          provideDiagnostics: async (document, previous, token, next) => {
            const report = await next(document, previous, token);
            const uri = document instanceof vscode.Uri ? document : document.uri;
            setTimeout(() => this.published.fire(uri), 0);
            return report;
          },
        },
        markdown: { isTrusted: { enabledCommands: CLIENT_COMMANDS }, supportHtml: false },
      },
    );
    client.registerFeature(capabilities());
    client.onNotification('proofline/functions', (params: FunctionsParams) => this.functions.fire(params));
    client.onDidChangeState((event) => {
      if (event.newState === State.Stopped && event.oldState === State.Running) this.stopped.fire();
    });
    this.client = client;
    await client.start();
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    await client.dispose(2000).catch(() => undefined);
  }

  /** Runs a command of the server. */
  async command<T>(name: string, argument: object, token?: vscode.CancellationToken): Promise<T | null> {
    if (this.client === undefined || !this.running) throw new Error('Proofline is not running.');
    const params = { command: name, arguments: [argument] };
    return token === undefined
      ? this.client.sendRequest<T | null>('workspace/executeCommand', params)
      : this.client.sendRequest<T | null>('workspace/executeCommand', params, token);
  }

  show(): void {
    this.output.show(true);
  }

  dispose(): void {
    void this.stop();
    this.output.dispose();
    this.functions.dispose();
    this.published.dispose();
    this.stopped.dispose();
  }
}

/** What an editor knows of the settings `proofline.…`. */
type Section = { readonly [name: string]: unknown } | null;

/** The settings as the server wants them: no check chosen means all. */
function settings(section: Section): object | null {
  return Array.isArray(section?.checks) && section.checks.length === 0 ? { ...section, checks: 'all' } : section;
}

/** The same failure of a header, found from two files that include it, is shown once. */
function once(diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
  const seen = new Set<string>();
  return diagnostics.filter((d) => {
    const code = typeof d.code === 'object' ? d.code.value : d.code;
    const key = `${d.range.start.line}:${d.range.start.character}-${d.range.end.line}:${d.range.end.character} ${code ?? ''} ${d.message}`;
    return seen.size < seen.add(key).size;
  });
}

/** Says to the server what only this client understands. */
function capabilities(): StaticFeature {
  return {
    fillClientCapabilities: (all) => {
      all.experimental = { ...(all.experimental as object | undefined), proofline: { functions: true, commands: CLIENT_COMMANDS } };
    },
    initialize: () => undefined,
    getState: () => ({ kind: 'static' }),
    clear: () => undefined,
  };
}
