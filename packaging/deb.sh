#!/usr/bin/env bash
# Makes the Debian packages: deb.sh PLACE, after `make all nginx man wheel`; they are put into PLACE.
# Rust comes from where it came from for the build, which need not be a Debian package, so that
# dpkg-buildpackage is not asked to check what the build depends on.
set -eu
place=$1 tree=$1/librl here=$(realpath "$(dirname "$0")")

rm -rf "$place"
mkdir -p "$tree"
cp -r "$here/debian" "$tree"
cd "$tree"
# The make that runs this may have variables and a job server that are not for the packages.
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
if ! dpkg-buildpackage --build=binary --no-sign --no-check-builddeps > ../build.log 2>&1; then
    tail -n 30 ../build.log >&2
    echo "building the packages failed; all of the output is in $place/build.log" >&2
    exit 1
fi
cd "$here/.."
rm -r "$tree"
