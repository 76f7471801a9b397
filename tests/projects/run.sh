#!/usr/bin/env bash
# The project commands on real projects with their own build systems: cJSON (CMake) and zlib (configure, make under bear). Usage: run.sh PROGRAM [FOLDER]
# FOLDER keeps Debian's sources (default: a new one). Needs Debian, as root or with `sudo` where something is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../editors/install/common.sh"
program=$(realpath "$1")
debian cmake bear make gcc libc6-dev git python3
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
sources=${2:-$state/sources}
sh "$here/../corpus/fetch.sh" "$sources" cjson zlib >/dev/null
result=0
ok() { echo "ok      $1"; }
failed() { echo "FAILED  $1"; result=1; }
# Little work for each: what is tested is the way to the programs, not how much is proved of them.
few=(--property division-by-zero,array-bounds --budget 4000 --limit 60)
# code_of COMMAND…: its exit code; what it prints is in $state/out.
code_of() { local code=0; "$@" >"$state/out" 2>"$state/err" || code=$?; echo "$code"; }
# names FILE: the programs of a result in JSON.
names() { python3 -c 'import json, sys; print(" ".join(sorted(p["name"] for p in json.load(open(sys.argv[1]))["programs"])))' "$1"; }

cp -r "$sources/cjson" "$sources/zlib" "$state"
cd "$state/cjson"
cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DENABLE_CJSON_UTILS=On >/dev/null 2>&1
printf 'exclude = ["tests/**", "fuzzing/**"]\n' > proofline.toml
code=$(code_of "$program" check --no-cache "${few[@]}" --format json)
cp "$state/out" base.json
if [ "$code" -le 2 ] && [[ " $(names base.json) " == *" cjson "* && " $(names base.json) " == *" cjson_utils "* ]]; then
  ok "cJSON with CMake: link targets are programs ($(names base.json))"
else
  failed "cJSON with CMake: code $code, programs $(names base.json || true)"; cat "$state/err"
fi
grep -q 'files are left out, as proofline.toml says' "$state/err" && ok "cJSON: proofline.toml leaves its tests out" || failed "cJSON: exclude"
code=$(code_of "$program" check --no-cache "${few[@]}" --baseline base.json --html report)
[ "$code" != 1 ] && [ "$code" != 3 ] && [ -s report/index.html ] && ok "cJSON: nothing is news, and there is a report" || failed "cJSON: --baseline --html: code $code"
git init --quiet && git add . && git -c user.name=a -c user.email=a@example.invalid commit --quiet -m first
# A mistake is put into a function that somebody calls.
sed -i 's/^CJSON_PUBLIC(const char\*) cJSON_Version(void)$/int planted(void);\nint planted(void) { int a[4] = {0}; int i = 4; return a[i]; }\n&/' cJSON.c
code=$(code_of "$program" check --no-cache "${few[@]}" --since HEAD)
[ "$code" = 1 ] && grep -q 'planted' "$state/out" && ok "cJSON: what a change brings is news (--since)" || failed "cJSON: --since: code $code"
code=$(code_of "$program" check --no-cache "${few[@]}" --baseline base.json)
[ "$code" = 1 ] && grep -q 'error\[array-bounds\]' "$state/out" && ok "cJSON: and to a baseline" || failed "cJSON: --baseline after the change: code $code"

cd "$state/zlib"
./configure >/dev/null
bear -- make libz.a example minigzip >/dev/null 2>&1
code=$(code_of "$program" check --no-cache "${few[@]}" --format json)
cp "$state/out" base.json
[ "$code" -le 2 ] && [[ " $(names base.json) " == *" deflate.c "* ]] && ok "zlib with configure and bear: each file is read with its own flags" || failed "zlib: code $code, $(names base.json || true)"
printf '[programs]\nzlib = ["*.c"]\n' > proofline.toml
code=$(code_of "$program" check --no-cache "${few[@]}" .)
[ "$code" -le 2 ] && grep -q '^== zlib (.*deflate\.c' "$state/out" && grep -q '^3 programs:' "$state/out" && ok "zlib: what make links is said in proofline.toml" || { failed "zlib: [programs]: code $code"; tail -n 3 "$state/out"; tail -n 3 "$state/err"; }
grep -q '0 not read' "$state/out" && ok "zlib: every program is read" || failed "zlib: not every program is read"
exit $result
