# Sourced by the scripts here: where things are kept, and retries. Nothing is written into the repository.
set -euo pipefail
CACHE=${PROOFLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/proofline-editors}
mkdir -p "$CACHE"
export npm_config_loglevel=error npm_config_yes=true npm_config_audit=false npm_config_fund=false
export DEBIAN_FRONTEND=noninteractive

# Runs a command up to three times: mirrors and registries have bad moments.
retry() {
  local n
  for n in 1 2 3; do
    "$@" && return 0
    echo "attempt $n of 3 failed: $*" >&2
    sleep $((n * 5))
  done
  return 1
}

# Installs Debian packages that are missing.
debian() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  retry "${sudo[@]}" apt-get -qq update
  retry "${sudo[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}" >"$CACHE/apt.log" 2>&1 || { tail -20 "$CACHE/apt.log" >&2; return 1; }
}
