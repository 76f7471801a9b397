#!/usr/bin/env bash
# Real Helix screens with this repository's configuration: failure, hover, code action. Usage: run.sh PROGRAM PICTURES
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../install/common.sh"
SCREEN=proofline-helix-$$
. "$here/../terminal/screen.sh"
program=$1 pictures=$2
folder=$(mktemp -d)
trap 'screen_end; rm -rf "$folder"' EXIT
mkdir -p "$folder/config/helix" "$folder/bin" "$folder/project"
cp "$here/../../../editors/helix/"*.toml "$folder/config/helix"
cp "$here"/../workspace/* "$here/../../../examples/average.c" "$folder/project"
ln -s "$program" "$folder/bin/proofline"
screen_start hx "cd $folder/project && PATH=$folder/bin:$PATH XDG_CONFIG_HOME=$folder/config XDG_CACHE_HOME=$folder/cache TERM=xterm-256color COLORTERM=truecolor $CACHE/trixie/bin/hx average.c:11:13; sleep 5"
screen_wait hx 'signed overflow' 120
screen_picture hx "$pictures/helix-failure.png"
screen_keys hx Space a
screen_wait hx 'counterexample'
screen_picture hx "$pictures/helix-code-action.png"
screen_keys hx Enter
screen_wait hx '1. `low = 2`'
screen_keys hx Escape
sleep 0.5
screen_keys hx gg /careful Enter
screen_keys hx Space k
screen_wait hx 'proved'
screen_picture hx "$pictures/helix-hover.png"
screen_keys hx Escape
sleep 0.5
screen_keys hx ':q!' Enter
echo "ok      Helix: failure, hover, code action"
