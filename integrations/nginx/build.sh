#!/usr/bin/env bash
# Builds the module: build.sh SOURCE PLACE, with the source of an nginx, or the headers of one that
# the distribution has packed, and a directory of ours for all that is made. The result is
# PLACE/ngx_http_rl_module.so.
set -eu
source=$1 place=$(realpath -m "$2") here=$(realpath "$(dirname "$0")")
out=$place/build.log

# nginx's own scripts take a path apart at its blanks, and remove the parts.
case $place$here in
    *[!A-Za-z0-9_./+,:@=~-]*)
        echo "nginx cannot be configured in a path with blanks or special characters: $place" >&2
        exit 1 ;;
esac

# Configuring writes into the source.
rm -rf "$place"
mkdir -p "$place"
cp -r "$source/." "$place/source"
cd "$place/source"

# What the distribution has configured its nginx with.
NGX_CONF_FLAGS=()
[ ! -e conf_flags ] || . ./conf_flags

# Hardened as distributions harden what they build.
cc_opt="-O2 -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
cc_opt="$cc_opt -Wformat -Werror=format-security"
ld_opt="-Wl,-z,relro -Wl,-z,now"

if ! { ./configure "${NGX_CONF_FLAGS[@]}" --with-compat --with-cc-opt="$cc_opt" \
           --with-ld-opt="$ld_opt" --builddir="$place/objects" --add-dynamic-module="$here" &&
       make -f "$place/objects/Makefile" modules; } > "$out" 2>&1; then
    tail -n 30 "$out" >&2
    echo "building the nginx module failed; all of the output is in $out" >&2
    exit 1
fi
mv "$place/objects/ngx_http_rl_module.so" "$place"
rm -r "$place/source" "$place/objects"
