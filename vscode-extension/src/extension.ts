/** The extension: puts its parts together and keeps the server running. */
import * as vscode from 'vscode';
import { findBinaryAnywhere } from './binary';
import { Client } from './client';
import { watchFront } from './front';
import { Functions } from './functions';
import { Gutter } from './gutter';
import type { FindingArgument, Reproduction } from './protocol';
import { registerReplay } from './replay';
import { registerSettingsFile } from './settingsFile';
import { Status } from './status';
import { ProofView } from './proof';
import { SummaryPanel } from './summary';
import { Testing } from './testing';
import { code, findings, Traces } from './trace';

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  client = new Client();
  const functions = new Functions();
  const status = new Status(functions);
  const traces = new Traces(client);
  context.subscriptions.push(watchFront(), client, functions, status, traces, new Gutter(context, functions), new Testing(client, functions), new SummaryPanel(client, functions), new ProofView(client, functions));
  context.subscriptions.push(...registerReplay(context, traces), ...registerSettingsFile(context));

  const server = client;
  /** Set while the extension itself stops the server. */
  let deliberate = false;
  let problem = '';
  const context_ = (name: string, value: boolean) => vscode.commands.executeCommand('setContext', `proofline.${name}`, value);

  // What was true before VS Code read the walkthrough's steps ticks none of them off; this becomes true when their page comes to the front.
  const pages = () => {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    void context_('pageShown', tab !== undefined && tab.input === undefined);
  };

  const explain = async () => {
    // Short: a notification cuts off what is longer. The rest is in the status bar's list and in the palette.
    const choose = 'Choose…';
    const how = 'Help';
    const again = 'Retry';
    const chosen = await vscode.window.showErrorMessage(`Proofline is not running. ${problem}`, choose, how, again);
    if (chosen === choose) await vscode.commands.executeCommand('proofline.choosePath');
    if (chosen === how) await vscode.commands.executeCommand('workbench.action.openWalkthrough', 'proofline.proofline#proofline.firstSteps');
    if (chosen === again) await restart();
  };
  const stopped = (why: string) => {
    problem = why;
    functions.clear();
    status.set({ kind: 'stopped', why: `Proofline is not running. ${why}` });
    void context_('running', false);
  };
  const start = async () => {
    const binary = await findBinaryAnywhere(context);
    if ('missing' in binary) {
      stopped(binary.missing);
      return void explain();
    }
    status.set({ kind: 'starting' });
    try {
      await server.start(binary.path);
      status.set({ kind: 'running' });
      void context_('running', true);
    } catch (error) {
      stopped(`"${binary.path} lsp" did not start: ${error instanceof Error ? error.message : String(error)}`);
      void explain();
    }
  };
  const restart = async () => {
    deliberate = true;
    await server.stop();
    functions.clear();
    deliberate = false;
    await start();
  };

  context.subscriptions.push(
    server.onFunctions((params) => {
      functions.update(params);
      void context_('functionsKnown', true);
    }),
    vscode.window.tabGroups.onDidChangeTabs(pages),
    vscode.workspace.onDidCloseTextDocument((document) => functions.closed(document.uri)),
    server.onDidStop(() => {
      if (deliberate) return;
      functions.clear();
      // The language client starts it again by itself, a few times; if it succeeds, the functions come again.
      status.set({ kind: 'starting' });
      setTimeout(() => {
        if (server.running) status.set({ kind: 'running' });
        else {
          stopped('It ended unexpectedly; the log has its last words.');
          void explain();
        }
      }, 5000);
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('proofline.path') || event.affectsConfiguration('proofline.store')) void restart();
    }),
    vscode.commands.registerCommand('proofline.restart', restart),
    vscode.commands.registerCommand('proofline.showOutput', () => server.show()),
    vscode.commands.registerCommand('proofline.explainStop', explain),
    vscode.commands.registerCommand('proofline.status', () => status.pick()),
    vscode.commands.registerCommand('proofline.choosePath', async () => {
      const [chosen] = (await vscode.window.showOpenDialog({ title: 'The program proofline', openLabel: 'Use this program', canSelectMany: false })) ?? [];
      if (chosen !== undefined) await vscode.workspace.getConfiguration('proofline').update('path', chosen.fsPath, vscode.ConfigurationTarget.Global);
    }),
    ...fileCommands(server, functions),
    vscode.commands.registerCommand('proofline.openTest', async (argument?: FindingArgument) => {
      const finding = argument ?? (await traces.meant());
      if (finding !== undefined) await openTest(server, finding);
    }),
    vscode.commands.registerCommand('proofline.testOpen', () => vscode.commands.executeCommand('proofline.openTest', traces.opened())),
  );
  await start();
}

/** Commands about the file or the function at the cursor. */
function fileCommands(server: Client, functions: Functions): vscode.Disposable[] {
  const document = () => vscode.window.activeTextEditor?.document;
  const whole = (name: string, command: string) =>
    vscode.commands.registerCommand(name, async () => {
      const uri = document()?.uri.toString();
      if (uri !== undefined) await server.command(command, { uri });
    });
  return [
    whole('proofline.verifyFile', 'proofline.verify'),
    whole('proofline.cancelFile', 'proofline.cancel'),
    vscode.commands.registerCommand('proofline.verifyFunction', async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor === undefined) return;
      const f = functions.at(editor.document.uri, editor.selection.active);
      if (f === undefined) return void vscode.window.showInformationMessage('Proofline: the cursor is not in a function.');
      await server.command('proofline.verify', { uri: editor.document.uri.toString(), function: f.name });
    }),
  ];
}

/** Shows the C test that reproduces a failure, and whether running it confirmed the failure. */
async function openTest(server: Client, finding: FindingArgument): Promise<void> {
  const progress = { location: vscode.ProgressLocation.Window, title: 'Proofline: writing a test' };
  const written = await vscode.window.withProgress(progress, () =>
    server.command<Reproduction>('proofline.test', finding).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
  );
  if (written instanceof Error) return void vscode.window.showWarningMessage(`Proofline: ${written.message}`);
  const test = written;
  if (test === null || test === undefined) return void vscode.window.showInformationMessage('Proofline: that failure is not there any more.');
  const document = await vscode.workspace.openTextDocument({ language: 'c', content: test.text });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside });
  if (test.confirmed === true) void vscode.window.showInformationMessage(`Proofline: running ${test.name} confirmed the failure.`);
  if (test.confirmed === null && test.output) void vscode.window.showWarningMessage(`Proofline: ${test.name} was written and not run. ${test.output}`);
  if (test.confirmed === null && !test.output) void vscode.window.showInformationMessage(`Proofline: ${test.name} was written and not run${isSeen(finding) ? '' : ': sanitizers cannot see a read without a value'}.`);
  if (test.confirmed === false) void vscode.window.showWarningMessage(`Proofline: running ${test.name} did not show the failure. ${test.output ?? ''}`);
}

/** Whether a run with sanitizers shows such a failure: they say nothing when a variable is read that has no value. */
function isSeen(finding: FindingArgument): boolean {
  const found = findings(vscode.Uri.parse(finding.uri)).find((f) => f.finding === finding.finding);
  return found === undefined || code(found.diagnostic) !== 'uninitialised';
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
