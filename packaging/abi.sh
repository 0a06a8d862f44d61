#!/usr/bin/env bash
# Describes what programs in C rely on: abi.sh LIBRARY [INCLUDE], as XML of abidw. The names are
# those that the library exports, the types those that a C compiler finds for them in the header
# (tests/header.rs holds it to the source). They meet in a library with nothing but a pointer to
# each function, since what Rust writes about types for debuggers changes with its version and
# has the insides of librl in it.
set -eu
library=$1 include=${2:-$(dirname "$0")/../include}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

names() { nm --dynamic --defined-only --format=just-symbols "$library" | sort; }
soname() { objdump -p "$library" | sed -n 's/^ *SONAME *//p'; }
fields() { sed -n '/^typedef struct rl_stats/,/^}/s/^    [a-z].* \([a-z_]*\);/\1/p' "$include/rl.h"; }

# rl_stats may grow at its end, so that its fields stand one by one, with type and place.
cat > "$place/abi.c" <<'END'
#include <rl.h>
#define FUNCTION(name) __typeof__(&name) const abi_##name = &name;
#define FIELD(name) \
    __typeof__(((rl_stats *)0)->name) (*const abi_rl_stats_##name)[offsetof(rl_stats, name) + 1] = 0;
END
names | sed 's/.*/FUNCTION(&)/' >> "$place/abi.c"
fields | sed 's/.*/FIELD(&)/' >> "$place/abi.c"

# A name that the header lacks does not compile.
gcc -std=gnu99 -g -shared -fPIC -Werror -I"$include" -Wl,-soname,"$(soname)" \
    -o "$place/abi.so" "$place/abi.c"
abidw --no-corpus-path --no-show-locs --no-comp-dir-path --no-elf-needed "$place/abi.so" |
    sed "s|$place/||g"
