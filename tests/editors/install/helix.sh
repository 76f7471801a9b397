#!/usr/bin/env bash
# Helix 25 from Debian 13, beside the system's packages.
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
debian patchelf
[ -x "$CACHE/trixie/bin/hx" ] || retry bash "$here/debian-suite.sh" "$CACHE/trixie" trixie nvim hx -- neovim hx >/dev/null
"$CACHE/trixie/bin/hx" --version
