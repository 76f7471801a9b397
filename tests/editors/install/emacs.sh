#!/usr/bin/env bash
# Emacs 30 (eglot is built in) from Debian's backports; the suite is used for this one package only.
. "$(dirname "$0")/common.sh"
if ! emacs --version 2>/dev/null | head -1 | grep -qE 'Emacs (29|[3-9][0-9])'; then
  mirror=$(grep -hm1 '^URIs:' /etc/apt/sources.list.d/debian.sources | awk '{print $2}')
  lists=$(mktemp -d)
  mkdir -p "$lists/lists/partial"
  for suite in bookworm bookworm-backports; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done > "$lists/sources.list"
  apt=(apt-get -o Dir::Etc::SourceList="$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$lists/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  retry "${apt[@]}" -qq update
  retry "${apt[@]}" -qq -y --no-install-recommends -t bookworm-backports install emacs-nox >"$CACHE/apt.log" 2>&1
  rm -rf "$lists"
fi
emacs --version | head -1
