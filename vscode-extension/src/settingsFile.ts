/** Completes and explains the keys of a project's `proofline.toml`, as the schema in the package has them. Knows of TOML only how lines begin. */
import * as fs from 'node:fs';
import * as vscode from 'vscode';

/** What the schema says of a key. */
interface Key {
  description: string;
  type?: string;
  enum?: string[];
  oneOf?: { type: string }[];
}

const FILES: vscode.DocumentSelector = { scheme: 'file', pattern: '**/proofline.toml' };

export function registerSettingsFile(context: vscode.ExtensionContext): vscode.Disposable[] {
  const schema = JSON.parse(fs.readFileSync(context.asAbsolutePath('dist/proofline.schema.json'), 'utf8')) as { properties: Record<string, Key> };
  const keys = new Map(Object.entries(schema.properties));
  const manifest = context.extension.packageJSON as { contributes: { configuration: { properties: Record<string, { items?: { enum?: string[] } }> } } };
  const checks = manifest.contributes.configuration.properties['proofline.checks']?.items?.enum ?? [];
  return [
    vscode.languages.registerCompletionItemProvider(FILES, { provideCompletionItems: (document, position) => complete(document, position, keys, checks) }, '"'),
    vscode.languages.registerHoverProvider(FILES, { provideHover: (document, position) => explain(document, position, keys) }),
  ];
}

function complete(document: vscode.TextDocument, position: vscode.Position, keys: Map<string, Key>, checks: string[]): vscode.CompletionItem[] {
  if (isInTable(document, position)) return [];
  const before = document.lineAt(position.line).text.slice(0, position.character);
  if (/^\s*\w*$/.test(before)) return missing(document, position, keys);
  const name = /^\s*(\w+)\s*=/.exec(before)?.[1];
  const key = name === undefined ? undefined : keys.get(name);
  if (name === undefined || key === undefined) return [];
  const texts = key.type === 'boolean' ? ['true', 'false'] : (name === 'checks' ? ['all', ...checks] : (key.enum ?? [])).map((text) => `"${text}"`);
  const range = document.getWordRangeAtPosition(position, /"[\w-]*"?|\w+/);
  return texts.map((text) => {
    const item = new vscode.CompletionItem(text, vscode.CompletionItemKind.Value);
    if (range !== undefined) item.range = range;
    return item;
  });
}

/** The keys that the file does not have yet. */
function missing(document: vscode.TextDocument, position: vscode.Position, keys: Map<string, Key>): vscode.CompletionItem[] {
  const lines = document.getText().split('\n').filter((_, line) => line !== position.line);
  const given = new Set(lines.map((line) => /^\s*\[?(\w+)/.exec(line)?.[1]));
  return [...keys].filter(([name]) => !given.has(name)).map(([name, key]) => {
    const item = new vscode.CompletionItem(name, vscode.CompletionItemKind.Property);
    item.insertText = new vscode.SnippetString(begun(name, key));
    item.documentation = key.description;
    return item;
  });
}

/** A key with the place of its value. */
function begun(name: string, key: Key): string {
  if (key.type === 'object') return `[${name}]\n`;
  if (key.type === 'array' || key.oneOf?.some((one) => one.type === 'array')) return `${name} = ["$1"]`;
  return key.type === 'string' ? `${name} = "$1"` : `${name} = $1`;
}

/** Behind a `[table]` there are no keys of the file itself. */
function isInTable(document: vscode.TextDocument, position: vscode.Position): boolean {
  return document.getText(new vscode.Range(0, 0, position.line, 0)).split('\n').some((line) => /^\s*\[/.test(line));
}

function explain(document: vscode.TextDocument, position: vscode.Position, keys: Map<string, Key>): vscode.Hover | undefined {
  const found = /^\s*\[?(\w+)/.exec(document.lineAt(position.line).text);
  const description = found?.[1] === undefined ? undefined : keys.get(found[1])?.description;
  return description === undefined || position.character > (found?.[0].length ?? 0) ? undefined : new vscode.Hover(description);
}
