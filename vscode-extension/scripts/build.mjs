// Bundles the extension into dist/extension.js: nothing of node_modules is shipped. The licences of what is in the bundle go beside it, and its bill of materials.
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

const folders = [...new Set(Object.keys(metafile.inputs).map(packageOf).filter(Boolean))].sort();
const packages = folders.map((folder) => ({ folder, ...JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) }));
const licences = packages.map(({ folder, name, version, license }) => {
  const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : fs.readFileSync(path.join(folder, file), 'utf8').trim();
  return `${name} ${version}: ${license}\n\n${text}\n`;
});
fs.writeFileSync('dist/THIRD-PARTY-LICENSES', licences.join(`\n${'='.repeat(79)}\n`));

const manifest = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const component = (type, { name, version, license }) => ({ type, name, version, licenses: [{ expression: license }] });
const bill = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: component('application', { ...manifest, name: 'proofline-vscode' }) },
  components: packages.map((one) => ({ ...component('library', one), purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}` })),
};
fs.writeFileSync('dist/sbom.cdx.json', `${JSON.stringify(bill, null, 2)}\n`);

// What completes a project's file of settings.
fs.copyFileSync('../docs/proofline.schema.json', 'dist/proofline.schema.json');

// The walkthrough shows the manual's pictures, which the tests take.
fs.rmSync('dist/pictures', { recursive: true, force: true });
fs.mkdirSync('dist/pictures', { recursive: true });
for (const { media } of manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps)) {
  if (media.image !== undefined) fs.copyFileSync(path.join('../docs/images', path.basename(media.image)), media.image);
}
