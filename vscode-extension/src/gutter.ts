/** An icon per function in the gutter. Draws `Functions`, decides nothing. */
import * as vscode from 'vscode';
import { range, type Functions } from './functions';
import type { State } from './protocol';

const STATES: readonly State[] = ['queued', 'running', 'proved', 'asks', 'violated', 'unknown', 'stale', 'internal-error'];

export class Gutter implements vscode.Disposable {
  private readonly types = new Map<State, vscode.TextEditorDecorationType>();
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    context: vscode.ExtensionContext,
    private readonly functions: Functions,
  ) {
    for (const state of STATES) {
      const icon = (theme: string) => vscode.Uri.file(context.asAbsolutePath(`media/gutter/${theme}/${state}.svg`));
      this.types.set(
        state,
        vscode.window.createTextEditorDecorationType({
          gutterIconSize: 'contain',
          rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
          dark: { gutterIconPath: icon('dark') },
          light: { gutterIconPath: icon('light') },
        }),
      );
    }
    this.subscriptions.push(
      functions.onDidChange((uri) => {
        for (const editor of vscode.window.visibleTextEditors) if (editor.document.uri.toString() === uri.toString()) this.draw(editor);
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach((editor) => this.draw(editor))),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('proofline.gutter')) vscode.window.visibleTextEditors.forEach((editor) => this.draw(editor));
      }),
    );
    vscode.window.visibleTextEditors.forEach((editor) => this.draw(editor));
  }

  private draw(editor: vscode.TextEditor): void {
    if (editor.document.languageId !== 'c') return;
    const shown = vscode.workspace.getConfiguration('proofline', editor.document).get('gutter', true);
    const functions = shown ? this.functions.of(editor.document.uri) : [];
    for (const [state, type] of this.types) {
      const lines = functions.filter((f) => f.state === state).map((f) => range(f.selectionRange));
      editor.setDecorations(type, lines);
    }
  }

  dispose(): void {
    for (const type of this.types.values()) type.dispose();
    this.subscriptions.forEach((s) => s.dispose());
  }
}
