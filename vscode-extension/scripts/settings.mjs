// Writes the settings into package.json and the manual: the server's own, as `proofline lsp --settings-schema` prints them, and the extension's.
// Usage: node scripts/settings.mjs PROGRAM [--check]     --check only says whether package.json is current
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [program, check] = process.argv.slice(2);
if (program === undefined) {
  console.error('usage: node scripts/settings.mjs PROGRAM [--check]');
  process.exit(2);
}
const schema = JSON.parse(execFileSync(program, ['lsp', '--settings-schema'], { encoding: 'utf8' }));
const file = new URL('../package.json', import.meta.url);
const manifest = JSON.parse(readFileSync(file, 'utf8'));

/** What only the extension knows. */
const own = {
  'proofline.path': {
    type: 'string',
    default: '',
    scope: 'machine-overridable',
    order: 0,
    markdownDescription: 'Where the program `proofline` is (an absolute path). Empty: it is looked for on the `PATH`.',
  },
  'proofline.store': {
    type: 'string',
    default: '',
    scope: 'machine',
    order: 2,
    markdownDescription:
      'Where your team shares what was verified: `redis://host:6379`, `s3://bucket/prefix` or a folder. Empty: what the environment\'s `PROOFLINE_STORE` says, or nowhere. A folder\'s own settings cannot name it.',
  },
  'proofline.gutter': {
    type: 'boolean',
    default: true,
    scope: 'resource',
    order: 1,
    markdownDescription: 'Show an icon per function with its verdict in the gutter.',
  },
  'proofline.trace.server': {
    type: 'string',
    enum: ['off', 'messages', 'verbose'],
    default: 'off',
    scope: 'window',
    order: 99,
    markdownDescription: 'Log what the editor and the server say to each other.',
  },
};
/** The checks with what they look for, as the manual's front page lists them. What a monitor forbids has no fixed name. */
const front = readFileSync(new URL('../../docs/README.md', import.meta.url), 'utf8');
const checks = [...front.matchAll(/^\| \[([a-z-]+)\]\(\.\.\/tests\/suites\/checks\/[^)]+\) \| (.*) \|$/gm)].map(([, code, what]) => ({ code, what })).sort((a, b) => (a.code < b.code ? -1 : 1));
/** VS Code's settings page edits lists of choices, and no choice between a word and a list. The server still takes the word "all". */
const forms = {
  'proofline.checks': {
    default: [],
    items: { type: 'string', enum: checks.map((c) => c.code), enumDescriptions: checks.map((c) => c.what.replaceAll('`', '')) },
    type: 'array',
    uniqueItems: true,
    description: 'Which checks; empty: all of them.',
  },
};
/** VS Code shows Markdown in `markdownDescription`, JSON Schema has `description`. */
const property = ([name, { description, ...rest }], index) => [
  name,
  { ...rest, scope: rest.scope ?? 'resource', order: rest.order ?? 10 + index, ...(description === undefined ? {} : { markdownDescription: description }) },
];
const wanted = { title: 'Proofline', properties: { ...own, ...Object.fromEntries(Object.entries({ ...schema, ...forms }).map(property)) } };
/** The manual's table of the server's settings. */
const page = new URL('../../docs/configuration.md', import.meta.url);
const manual = readFileSync(page, 'utf8');
const kind = (p) => (p.enum !== undefined ? p.enum.map((e) => `\`"${e}"\``).join(', ') : (p.type ?? p.oneOf.map((o) => (o.type === 'array' ? 'list' : o.type)).join(' or ')).replace('array', 'list'));
const rows = Object.entries(schema).map(([name, p]) => `| \`${name.replace('proofline.', '')}\` | ${kind(p)} | \`${JSON.stringify(p.default)}\` | ${p.description} |`);
const table = ['| setting | | default | |', '|---|---|---|---|', ...rows].join('\n');
const newer = manual.replace(/(<!-- settings: [^\n]*-->\n)[^]*(<!-- end of settings -->)/, (_, start, end) => `${start}\n${table}\n\n${end}`);
if (check === '--check') {
  if (JSON.stringify(manifest.contributes.configuration) !== JSON.stringify(wanted) || manual !== newer) {
    console.error('the settings in vscode-extension/package.json or docs/configuration.md are not those of the server: run `npm run settings -- PROGRAM`');
    process.exit(1);
  }
} else {
  writeFileSync(page, newer);
  manifest.contributes.configuration = wanted;
  // One line for what is short, as the rest of the file is written.
  const text = JSON.stringify(manifest, null, 2).replace(/(\[|\{)\n\s*([^\[\]{}]*?)\n\s*(\]|\})/g, (whole, open, inside, close) => {
    const line = `${open}${open === '{' ? ' ' : ''}${inside.replace(/\n\s*/g, ' ')}${close === '}' ? ' ' : ''}${close}`;
    return line.length <= 150 ? line : whole;
  });
  writeFileSync(file, `${text}\n`);
}
