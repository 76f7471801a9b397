#!/usr/bin/env bash
# Records the terminal session of the front page (asciicast v2) and draws it as an animated SVG; checks that it shows a failure, and a proof of the mended
# program. Usage: run.sh PROGRAM PICTURES
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../install/common.sh"
program=$1 pictures=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/project"
ln -s "$program" "$folder/bin/proofline"
cp "$here/../../../examples/average.c" "$folder/project"
cd "$folder/project"
termtosvg=$CACHE/recording/bin/termtosvg
PATH="$folder/bin:$PATH" HOME="$folder" XDG_CACHE_HOME="$folder/cache" TERM=xterm-256color LANG=C.UTF-8 \
  timeout 300 "$termtosvg" record "$pictures/session.cast" -g 104x32 -c "bash $here/session.sh" >/dev/null 2>&1 < <(tail -f --pid=$$ /dev/null)
result=0
shows() {
  if python3 -c '
import json, re, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()[1:]
text = "".join(event[2] for event in map(json.loads, lines) if event[1] == "o")
text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
sys.exit(sys.argv[2] not in text)' "$pictures/session.cast" "$1"; then
    echo "ok      the recorded session shows: $1"
  else
    echo "FAILED  the recorded session does not show: $1"
    result=1
  fi
}
shows 'error[signed-overflow]'
shows 'low = 2, high = 2147483646'
shows 'RESULT: true'
shows 'holds: '
# Waits that nobody wants to look at are shortened. The last picture stays for a while before it begins again.
"$termtosvg" render "$pictures/session.cast" "$pictures/session.svg" -M 3500 -D 5000 -t gjm8 || result=1
grep -q '<svg' "$pictures/session.svg" || { echo "FAILED  no picture of the session"; result=1; }
exit $result
