#!/usr/bin/env bash
# Checks Emacs's eglot with this repository's configuration. Usage: run.sh PROGRAM PICTURES
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../install/common.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/project"
cp "$here"/../workspace/* "$here/../../../examples/average.c" "$folder/project"
ln -s "$1" "$folder/bin/proofline"
cd "$folder/project"
PATH="$folder/bin:$PATH" HOME="$folder" timeout 400 emacs -Q --batch -l "$here/../../../editors/emacs/proofline.el" -l "$here/check.el" average.c 2>"$folder/stderr" || { tail -20 "$folder/stderr"; exit 1; }
