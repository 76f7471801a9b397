#!/usr/bin/env bash
# Builds the extension and checks it in VS Code. Usage: run.sh PROGRAM PICTURES
# With VSIX=FILE, that package is checked, with the server inside of it; how a server is found on the first start is checked without.
. "$(dirname "$0")/../install/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
program=$1 pictures=$2 port=${PORT:-0}
export PATH="$CACHE/node24/bin:$PATH" PLAYWRIGHT="$CACHE/driver/node_modules/playwright-core"
state=$(mktemp -d) pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$state"' EXIT
cd "$here/../../../vscode-extension"
[ -d node_modules/esbuild ] || retry npm ci --ignore-scripts
node scripts/settings.mjs "$program" --check
npm run -s check
npm run -s build
npx --no-install vsce package --no-dependencies --allow-missing-repository -o "$state/proofline.vsix" > "$state/vsce.log" 2>&1 || { cat "$state/vsce.log"; exit 1; }
python3 "$here/package.py" "$state/proofline.vsix"
checked=$state/proofline.vsix own=$program
if [ -n "${VSIX:-}" ]; then
  checked=$VSIX own=''
  python3 "$here/package.py" "$checked"
fi
mkdir "$state/project"
cp "$here"/../workspace/* "$here/../../../examples/average.c" "$state/project"
[ "$port" != 0 ] || port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
pid=$(bash "$here/start.sh" "$state" "$state/project" "$checked" "$own" "$port")
export SETTINGS="$state/data/User/settings.json" MACHINE_SETTINGS="$state/data/Machine/settings.json"
url="http://127.0.0.1:$port/?folder=$state/project"
result=0
node "$here/checks.mjs" "$url" "$state/project" "$pictures" || result=1
[ "$result" != 0 ] || [ -n "${ONLY:-}" ] || { cp "$here/../../../examples/average.c" "$state/project"; echo "latency $(node "$here/latency.mjs" "$url" "${LATENCY_EDITS:-10}" || echo 'not measured')"; }
[ -n "${ONLY:-}" ] || bash "$here/first-start.sh" "$state/proofline.vsix" "$program" "$pictures" || result=1
if [ "$result" != 0 ]; then
  # What the server and the extension host said last.
  find "$state/data/logs" -name '*Proofline*' -exec tail -n 30 {} + 2>/dev/null || true
fi
exit "$result"
