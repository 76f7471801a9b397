#!/usr/bin/env bash
# Real Neovim screens: verdicts, failure, hover, code action, trace, summary. Usage: screens.sh NVIM FOLDER PICTURES
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../install/common.sh"
SCREEN=proofline-neovim-$$
. "$here/../terminal/screen.sh"
nvim=$1 folder=$2 pictures=$3
trap screen_end EXIT
screen_start nv "cd $folder && PLUGIN=$PLUGIN PROOFLINE=$PROOFLINE XDG_STATE_HOME=$folder/.state XDG_DATA_HOME=$folder/.data XDG_CONFIG_HOME=$folder/.config TERM=xterm-256color COLORTERM=truecolor $nvim --clean -u $here/init.lua average.c"
screen_wait nv '✗1' 120
screen_keys nv 11Gfl gl
screen_wait nv 'signed overflow'
screen_picture nv "$pictures/neovim-failure.png"
screen_keys nv :6 Enter
screen_keys nv 0 /careful Enter
screen_keys nv K
screen_wait nv 'proved'
screen_picture nv "$pictures/neovim-hover.png"
screen_keys nv :11 Enter
screen_keys nv 0fl gra
screen_wait nv 'counterexample'
screen_picture nv "$pictures/neovim-code-action.png"
screen_keys nv 1 Enter
screen_wait nv '▶(1)'
screen_keys nv ']t' ']t' ']t'
screen_wait nv '▶(4)'
screen_picture nv "$pictures/neovim-trace.png"
screen_keys nv ':ProoflineClose' Enter
screen_gone nv '▶'
screen_keys nv :6 Enter
screen_keys nv ':ProoflineSummary' Enter
screen_wait nv 'summary [-]'
screen_picture nv "$pictures/neovim-summary.png"
screen_keys nv :11 Enter
screen_keys nv ':s/(low + high)/low + (high - low)/' Enter
screen_gone nv '✗'
screen_wait nv '✓3'
screen_keys nv ':qa!' Enter
echo "ok      real screens: failure, hover, code action, trace, summary, edit that mends"
