#!/usr/bin/env bash
# Checks the report of `proofline check --html` in a real browser, from the disk. Usage: run.sh PROGRAM PICTURES
. "$(dirname "$0")/../install/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
program=$1 pictures=$2
export PATH="$CACHE/node24/bin:$PATH" PLAYWRIGHT="$CACHE/driver/node_modules/playwright-core"
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
cp "$here"/*.c "$here/../../../examples/average.c" "$state"
python3 "$here/long.py" > "$state/long.c"
cd "$state"
# A failure was found: 1.
check() { local code=0; "$program" check --no-cache "$@" >/dev/null || code=$?; [ "$code" -le 2 ] || exit "$code"; }
check stock.c --limit 30 --html stock
check hostile.c --html hostile
check pointers.c --limit 20 --html pointers
check long.c --limit 20 --html long
mkdir several
cp average.c stock.c several
cat > several/compile_commands.json <<'J'
[{"directory": ".", "file": "average.c", "command": "cc -c average.c"}, {"directory": ".", "file": "stock.c", "command": "cc -c stock.c"}]
J
(cd several && check --limit 30 --html report)
node "$here/checks.mjs" "$state" "$pictures"
