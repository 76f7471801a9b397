/** The text that a command is about when nobody says which: the one in front, or what was before a page without text came there. */
import * as vscode from 'vscode';

let last: vscode.TextDocument | undefined;

/** Remembers which C file was in front. */
export function watchFront(): vscode.Disposable {
  const remember = (editor: vscode.TextEditor | undefined) => {
    if (editor?.document.languageId === 'c') last = editor.document;
  };
  remember(vscode.window.activeTextEditor);
  return vscode.window.onDidChangeActiveTextEditor(remember);
}

/** The editor in front. From the walkthrough, a summary or the settings, the C file before it comes back, if it is still open. */
export async function front(): Promise<vscode.TextEditor | undefined> {
  const editor = vscode.window.activeTextEditor;
  return editor !== undefined || last === undefined || last.isClosed ? editor : vscode.window.showTextDocument(last);
}
