#!/usr/bin/env bash
# A real browser (Debian's Chromium) and its driver.
. "$(dirname "$0")/common.sh"
PLAYWRIGHT=1.65.1
bash "$(dirname "$0")/node.sh"
debian chromium fonts-dejavu-core
export PATH="$CACHE/node24/bin:$PATH"
if [ ! -f "$CACHE/driver/node_modules/playwright-core/package.json" ]; then
  mkdir -p "$CACHE/driver"
  (cd "$CACHE/driver" && echo '{"private":true}' > package.json && retry npm install --ignore-scripts "playwright-core@$PLAYWRIGHT")
fi
