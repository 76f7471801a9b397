#!/usr/bin/env bash
# What records a terminal and draws the recording: termtosvg, in an environment of its own.
. "$(dirname "$0")/common.sh"
TERMTOSVG=1.4.1
debian python3-venv
if [ ! -x "$CACHE/recording/bin/termtosvg" ]; then
  python3 -m venv "$CACHE/recording"
  retry "$CACHE/recording/bin/pip" install --quiet "termtosvg-ng==$TERMTOSVG"
fi
"$CACHE/recording/bin/termtosvg" --version
