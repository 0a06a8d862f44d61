#!/usr/bin/env bash
# Installs the packages in a Debian system with nothing else in it: clean-system.sh PLACE, after
# `make deb` has put them there. A program of README.md is built and run there, shared and static,
# Python asks once, nginx reads a configuration with a limit, and removing the packages leaves nothing behind.
set -eu
packages=$(realpath "$1") here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The mirrors are those of this system.
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    'Origin: Debian' | sort -u > "$work/sources.list"
[ -s "$work/sources.list" ] || { echo "apt knows no mirror of Debian" >&2; exit 1; }
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

mkdir "$work/librl"
cp "$packages"/*.deb "$here/clean-system-inside.sh" "$work/librl"
block() { awk -v language="$1" '$0 == "```" language { on = 1; next } /^```/ { on = 0 } on' "$here/../README.md"; }
block c > "$work/librl/hello.c"
block console | grep '^#' > "$work/librl/expected"

# Nothing of the new system is kept.
timeout 900 mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkgconf,nginx,python3-cffi \
    --customize-hook="copy-in '$work/librl' /opt" \
    --customize-hook='chroot "$1" sh /opt/librl/clean-system-inside.sh' \
    --format=null "$suite" /dev/null "$work/sources.list"
