// Bundles the extension into dist/extension.js: nothing of node_modules is shipped. The licences of what is in the bundle go beside it.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { build } from 'esbuild';

const { metafile } = await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  minify: true,
  sourcemap: false,
  metafile: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode'],
  legalComments: 'none',
});

/** The folder of the package that a bundled file belongs to; nothing for our own files. */
function packageOf(file) {
  const at = file.lastIndexOf('node_modules/');
  if (at < 0) return undefined;
  const [scope, name] = file.slice(at + 'node_modules/'.length).split('/');
  return file.slice(0, at) + 'node_modules/' + (scope.startsWith('@') ? `${scope}/${name}` : scope);
}

const packages = [...new Set(Object.keys(metafile.inputs).map(packageOf).filter(Boolean))].sort();
const parts = packages.map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : fs.readFileSync(path.join(folder, file), 'utf8').trim();
  return `${name} ${version}: ${license}\n\n${text}\n`;
});
fs.writeFileSync('dist/THIRD-PARTY-LICENSES', parts.join(`\n${'='.repeat(79)}\n`));

// What completes a project's file of settings.
fs.copyFileSync('../docs/proofline.schema.json', 'dist/proofline.schema.json');

// The walkthrough shows the manual's pictures, which the tests take.
fs.rmSync('dist/pictures', { recursive: true, force: true });
fs.mkdirSync('dist/pictures', { recursive: true });
const { contributes } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
for (const { media } of contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps)) {
  if (media.image !== undefined) fs.copyFileSync(path.join('../docs/images', path.basename(media.image)), media.image);
}
