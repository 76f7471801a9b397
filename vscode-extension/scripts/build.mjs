// Bundles the extension into dist/extension.js: nothing of node_modules is shipped.
import { build } from 'esbuild';

await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  minify: true,
  sourcemap: false,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode'],
  legalComments: 'none',
});
