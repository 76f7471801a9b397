/** Replay of a counterexample: a debug session on `proofline dap`. The adapter is the server's; here is only how it is started. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { findBinary } from './binary';
import type { FindingArgument } from './protocol';
import type { Traces } from './trace';

export function registerReplay(context: vscode.ExtensionContext, traces: Traces): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand('proofline.replay', async (argument?: FindingArgument) => {
      const finding = argument ?? (await traces.meant());
      if (finding === undefined) return;
      const uri = vscode.Uri.parse(finding.uri);
      await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(uri), {
        type: 'proofline',
        request: 'launch',
        name: `Counterexample in ${path.basename(uri.fsPath)}`,
        program: uri.fsPath,
        finding: finding.finding,
        stopOnEntry: true,
      });
      void vscode.commands.executeCommand('setContext', 'proofline.replayed', true);
    }),
    // The view's own button is about what the view shows, wherever the cursor is.
    vscode.commands.registerCommand('proofline.replayOpen', () => vscode.commands.executeCommand('proofline.replay', traces.opened())),
    vscode.debug.registerDebugConfigurationProvider('proofline', {
      resolveDebugConfiguration: (_folder, configuration) => {
        // F5 without a launch.json: the current file's first failure.
        const document = vscode.window.activeTextEditor?.document;
        if (!configuration.type && document?.languageId === 'c') {
          return { type: 'proofline', request: 'launch', name: 'Counterexample', program: document.uri.fsPath, stopOnEntry: true };
        }
        return configuration;
      },
      resolveDebugConfigurationWithSubstitutedVariables: (_folder, configuration) => {
        // Nothing is printed during a replay.
        configuration.internalConsoleOptions ??= 'neverOpen';
        const dirty = vscode.workspace.textDocuments.filter((d) => d.isDirty && d.uri.scheme === 'file' && /\.[ch]$/.test(d.uri.fsPath));
        if (dirty.length > 0) configuration.texts = Object.fromEntries(dirty.map((d) => [d.uri.toString(), d.getText()]));
        return configuration;
      },
    }),
    vscode.debug.registerDebugAdapterDescriptorFactory('proofline', {
      createDebugAdapterDescriptor: () => {
        const binary = findBinary(context);
        if ('missing' in binary) throw new Error(binary.missing);
        return new vscode.DebugAdapterExecutable(binary.path, ['dap']);
      },
    }),
  ];
}
