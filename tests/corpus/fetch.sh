#!/bin/sh
# Fetches C programs as Debian source packages into a folder: fetch.sh DIR [PACKAGE…]
# Idempotent: what is there is left alone. Needs apt-get and tar, no root; nothing of the machine's
# own apt configuration is changed. For each package DIR/NAME holds the upstream sources, unpatched.
# With tclsh and cc, DIR/sqlite3/sqlite3.c is SQLite in one piece.
set -eu

dir=${1:?usage: fetch.sh DIR [PACKAGE...]}
shift
[ $# -gt 0 ] || set -- lua5.4 zlib libzstd cjson sqlite3

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
apt=$dir/.apt
release=bookworm

apt() {
    apt-get -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State="$apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$apt/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

prepare() {
    [ ! -e "$apt/ready" ] || return 0
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$keyring] $mirror $release main" > "$apt/sources.list"
    apt update
    touch "$apt/ready"
}

fetch() {
    package=$1
    [ ! -e "$dir/$package/.complete" ] || { echo "$package: already there"; return 0; }
    prepare
    rm -rf "$dir/$package" "$apt/download"
    mkdir -p "$dir/$package" "$apt/download"
    # The hashes of the files are checked by apt against the signed index.
    (cd "$apt/download" && apt source --download-only --only-source "$package")
    tarball=$(find "$apt/download" -name '*.orig.tar.*[!c]' | head -n 1)
    tar -xf "$tarball" -C "$dir/$package" --strip-components=1
    rm -rf "$apt/download"
    [ "$package" != sqlite3 ] || amalgamate "$dir/$package"
    touch "$dir/$package/.complete"
    echo "$package: $(find "$dir/$package" -name '*.c' | wc -l) C files"
}

amalgamate() {
    if ! command -v tclsh > /dev/null || ! command -v cc > /dev/null; then
        echo "sqlite3: no tclsh or cc, so sqlite3.c is not built"
        return 0
    fi
    (cd "$1" && ./configure --disable-tcl --disable-readline && make sqlite3.c) > "$1/.amalgamation.log" 2>&1
}

for package; do
    fetch "$package"
done
