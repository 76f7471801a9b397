/** Where the program `proofline` is. */
import { execFile } from 'node:child_process';
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

const NAME = process.platform === 'win32' ? 'proofline.exe' : 'proofline';

/** Where the user's shell found it. */
let fromShell: string | undefined;

/** In this order: the setting `proofline.path`, a program inside the extension, `PATH`, folders in which programs are usually put, the user's shell if it was asked. */
export function findBinary(context: vscode.ExtensionContext): Binary {
  const set = vscode.workspace.getConfiguration('proofline').get<string>('path', '').trim();
  if (set !== '') {
    const wanted = expand(set);
    if (!path.isAbsolute(wanted)) return { missing: `The setting "proofline.path" must be an absolute path, but is "${set}".` };
    return executable(wanted) ? { path: wanted } : { missing: `The setting "proofline.path" names "${wanted}", which is not a program.` };
  }
  const home = os.homedir();
  const places = [
    context.asAbsolutePath('bin'),
    ...(process.env.PATH ?? '').split(path.delimiter).filter((place) => path.isAbsolute(place)),
    ...[['.local', 'bin'], ['.cargo', 'bin'], ['bin']].map((parts) => path.join(home, ...parts)),
    ...(process.platform === 'win32' ? [] : ['/usr/local/bin', '/opt/homebrew/bin']),
  ];
  const found = [...places.map((place) => path.join(place, NAME)), ...(fromShell === undefined ? [] : [fromShell])].find(executable);
  return found === undefined ? { missing: 'Its program was not found.' } : { path: found };
}

/** The same, and at last what the user's shell says: editors do not see what `.bashrc` or `.zshrc` add to the PATH. */
export async function findBinaryAnywhere(context: vscode.ExtensionContext): Promise<Binary> {
  const found = findBinary(context);
  const isSet = vscode.workspace.getConfiguration('proofline').get<string>('path', '').trim() !== '';
  if ('path' in found || isSet) return found;
  fromShell = await askShell();
  return findBinary(context);
}

function askShell(): Promise<string | undefined> {
  const shell = process.env.SHELL;
  if (process.platform === 'win32' || shell === undefined || !path.isAbsolute(shell)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    // Not in the workspace's folder: what lies there has no say.
    const options = { timeout: 5000, cwd: os.homedir() };
    const child = execFile(shell, ['-i', '-l', '-c', `command -v ${NAME}`], options, (_, out) => {
      const last = out.trim().split('\n').pop()?.trim() ?? '';
      resolve(path.isAbsolute(last) && executable(last) ? last : undefined);
    });
    child.stdin?.end();
  });
}
