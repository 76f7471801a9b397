#!/usr/bin/env bash
# Proofline in the real editors. Usage: tests/editors/run.sh [--docs] [--program FILE] [--package FILE.vsix] [recording] [neovim] [helix] [emacs] [report] [vscode]     (no name: all)
# --package installs a package of the extension into VS Code, with the server that is inside and no setting that names another.
# Installs what is missing under ~/.cache/proofline-editors (PROOFLINE_EDITORS says otherwise). Pictures go to target/editors; with --docs also to
# docs/images, where the manual shows them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/install/common.sh"
root=$(cd "$here/../.." && pwd)
program='' docs='' editors=()
while [ $# -gt 0 ]; do
  case $1 in
    --docs) docs=yes ;;
    --program) program=$(realpath "$2"); shift ;;
    --package) VSIX=$(realpath "$2"); export VSIX; shift ;;
    recording | neovim | helix | emacs | report | vscode) editors+=("$1") ;;
    *) echo "unknown: $1 (editors: neovim helix emacs vscode; report, which is the page of check --html; recording, the session of the front page; options: --docs, --program FILE, --package FILE.vsix)" >&2; exit 2 ;;
  esac
  shift
done
[ ${#editors[@]} -gt 0 ] || editors=(recording neovim helix emacs report vscode)
if [ -z "$program" ]; then
  (cd "$root" && cargo test --quiet --workspace --no-run --test command_line)
  program=$root/target/debug/proofline
fi
pictures=$root/target/editors
rm -rf "$pictures"
mkdir -p "$pictures"
result=0
for editor in "${editors[@]}"; do
  echo "== $editor"
  start=$SECONDS
  bash "$here/install/screens.sh"
  if ! bash "$here/install/$editor.sh"; then
    echo "FAILED  cannot install $editor"
    result=1
    continue
  fi
  echo "   installed after $((SECONDS - start)) s"
  bash "$here/$editor/run.sh" "$program" "$pictures" || { result=1; echo "== $editor FAILED"; }
  echo "   $((SECONDS - start)) s in all"
done
if [ -n "$docs" ] && [ $result = 0 ]; then
  mkdir -p "$root/docs/images"
  debian pngquant
  for picture in "$pictures"/*.png; do
    [[ ${picture##*/} == failed-* ]] || pngquant --force --quality 70-95 --strip --output "$root/docs/images/${picture##*/}" 64 "$picture"
  done
  for recording in "$pictures"/*.svg "$pictures"/*.cast; do
    [ ! -f "$recording" ] || cp "$recording" "$root/docs/images/"
  done
fi
exit $result
