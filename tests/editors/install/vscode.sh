#!/usr/bin/env bash
# A real VS Code (code-server, from npm), a real browser (Debian's Chromium) and its driver. About 3 minutes and 0.9 GB, once.
. "$(dirname "$0")/common.sh"
CODE_SERVER=4.139.1
bash "$(dirname "$0")/browser.sh"
# Compiler and one header: a few of VS Code's modules are native.
debian libkrb5-dev g++ make python3 curl
export PATH="$CACHE/node24/bin:$PATH" npm_config_nodedir="$CACHE/node24" # headers from there: nothing is downloaded
if [ ! -f "$CACHE/code-server/.done" ]; then
  fetch() {
    rm -rf "$CACHE/code-server"
    mkdir -p "$CACHE/code-server"
    (cd "$CACHE/code-server" && echo '{"private":true}' > package.json && npm install --unsafe-perm "code-server@$CODE_SERVER" && touch .done)
  }
  retry fetch
fi
CODE_SERVER_CONFIG="$CACHE/config.yaml" node "$CACHE/code-server/node_modules/code-server/out/node/entry.js" --version 2>/dev/null | tail -1
