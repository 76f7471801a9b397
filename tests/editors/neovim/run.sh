#!/usr/bin/env bash
# Checks the plugin in every Neovim that is installed. Usage: run.sh PROGRAM PICTURES
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../install/common.sh"
export PROOFLINE=$1 PLUGIN=$here/../../../editors/neovim
pictures=$2 result=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fresh() { rm -rf "${folder:?}"/* "$folder"/.[a-z]*; cp "$here"/../workspace/* "$here/../../../examples/average.c" "$folder"; }
for nvim in "$CACHE"/{trixie,sid}/bin/nvim; do
  [ -x "$nvim" ] || continue
  fresh
  (cd "$folder" && XDG_STATE_HOME=$folder/.state XDG_DATA_HOME=$folder/.data XDG_CONFIG_HOME=$folder/.config \
    timeout 400 "$nvim" --headless --clean -u "$here/init.lua" average.c -c "luafile $here/check.lua" 2>"$folder/.stderr") ||
    { result=1; tail -20 "$folder/.stderr"; tail -20 "$folder/.state/nvim/lsp.log" 2>/dev/null || true; }
done
fresh
bash "$here/screens.sh" "$CACHE/trixie/bin/nvim" "$folder" "$pictures" || { result=1; echo "FAILED  real screens"; }
exit $result
