#!/usr/bin/env bash
# The first start of VS Code where only the user's shell knows the program. Usage: first-start.sh VSIX PROGRAM PICTURES
. "$(dirname "$0")/../install/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
vsix=$1 program=$2 pictures=$3
export PROOFLINE_EDITORS=$CACHE PLAYWRIGHT="$CACHE/driver/node_modules/playwright-core"
state=$(mktemp -d) pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$state"' EXIT
mkdir -p "$state/home" "$state/tools" "$state/project"
cp "$here/../../../examples/average.c" "$state/project"
ln -s "$program" "$state/tools/proofline"
# VS Code asks the shell, too, as long as that is quick; this shell answers only the extension.
echo "[ -n \"\$VSCODE_RESOLVING_ENVIRONMENT\" ] || PATH=$state/tools:\$PATH" > "$state/home/.bash_profile"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
pid=$(HOME="$state/home" SHELL=/bin/bash PATH=/usr/bin:/bin bash "$here/start.sh" "$state" "$state/project" "$vsix" '' "$port")
"$CACHE/node24/bin/node" "$here/first-start.mjs" "http://127.0.0.1:$port/?folder=$state/project" "$state/tools/proofline" "$pictures"
