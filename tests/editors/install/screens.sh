#!/usr/bin/env bash
# What turns a terminal's screen into a picture: tmux, aha, Chromium and a font.
. "$(dirname "$0")/common.sh"
debian tmux aha chromium fonts-dejavu-core
