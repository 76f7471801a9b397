/** Where the program `proofline` is. Starts nothing. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** The program, or why there is none. */
export type Binary = { path: string } | { missing: string };

function executable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** `~` and `${workspaceFolder}` as people write them in settings. */
function expand(text: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  const home = text === '~' || text.startsWith('~/') ? os.homedir() + text.slice(1) : text;
  return home.replaceAll('${workspaceFolder}', folder).replaceAll('${userHome}', os.homedir());
}

/** In this order: the setting `proofline.path`, a program inside the extension, `PATH`, cargo's folder. */
export function findBinary(context: vscode.ExtensionContext): Binary {
  const name = process.platform === 'win32' ? 'proofline.exe' : 'proofline';
  const set = vscode.workspace.getConfiguration('proofline').get<string>('path', '').trim();
  if (set !== '') {
    const wanted = expand(set);
    if (!path.isAbsolute(wanted)) return { missing: `The setting "proofline.path" must be an absolute path, but is "${set}".` };
    return executable(wanted) ? { path: wanted } : { missing: `The setting "proofline.path" names "${wanted}", which is not a program.` };
  }
  const places = [
    context.asAbsolutePath('bin'),
    ...(process.env.PATH ?? '').split(path.delimiter).filter((place) => path.isAbsolute(place)),
    path.join(os.homedir(), '.cargo', 'bin'),
  ];
  const found = places.map((place) => path.join(place, name)).find(executable);
  return found === undefined ? { missing: 'The program "proofline" is not on the PATH.' } : { path: found };
}
