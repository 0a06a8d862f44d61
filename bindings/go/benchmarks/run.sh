#!/usr/bin/env bash
# Measures the Go binding beside x/time/rate, and prints a table: `make bench-go`. The library
# is that of build/, put below build/go as `make install` would.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
make --no-print-directory -C "$root" install DESTDIR="$root/build/go" PREFIX=/usr >&2
export PKG_CONFIG_PATH=$root/build/go/usr/lib/pkgconfig LD_LIBRARY_PATH=$root/build/go/usr/lib
export GOPROXY=off
cd "$root/bindings/go/benchmarks"
go test -bench=. -benchtime=20000x -count="${1:-20}" -timeout=30m . | python3 -B report.py
