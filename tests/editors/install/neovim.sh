#!/usr/bin/env bash
# Neovim 0.10 from Debian 13 and the newest from sid, each with its own C library, beside the system's packages.
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
debian patchelf
[ -x "$CACHE/trixie/bin/nvim" ] || retry bash "$here/debian-suite.sh" "$CACHE/trixie" trixie nvim hx -- neovim hx >/dev/null
# The newest is a moving target: its absence is not a failure.
[ -x "$CACHE/sid/bin/nvim" ] || bash "$here/debian-suite.sh" "$CACHE/sid" sid nvim -- neovim >/dev/null 2>&1 || { rm -rf "$CACHE/sid"; echo "no newer Neovim to be had"; }
for n in "$CACHE"/{trixie,sid}/bin/nvim; do [ ! -x "$n" ] || "$n" --version | head -1; done
