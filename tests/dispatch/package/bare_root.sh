#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bare_root.sh LIBRARY INCLUDE_DIR PROGRAM_SOURCE MAKE_DATABASE: PROGRAM_SOURCE answers below a root folder that holds the
# program, LIBRARY, the C and C++ libraries and a database: no CUDA, no driver, no /proc, /dev, /etc or home.
# Ends with 77 where neither root nor a user namespace is to be had.
set -euo pipefail
library=$1 include=$2 source=$3 make_database=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }

chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot) # a user's PATH has no /usr/sbin
below=("$chroot")
if ! "${below[@]}" / true 2>"$scratch/refused"; then
  below=("$(command -v unshare)" --map-root-user "$chroot")
  "${below[@]}" / true 2>>"$scratch/refused" ||
    { echo "skipped, since chroot is not permitted here, nor in a user namespace: $(cat "$scratch/refused")" && exit 77; }
fi

root=$scratch/root
mkdir "$root"
cc -std=c99 -I "$include" "$source" -o "$root/lookup" "$library" -Wl,-rpath,/
"$make_database" "$root/winners.db"
cp -L "$library" "$root/$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
# The loader is named by its path, the libraries as "libc.so.6 => /lib/...".
LD_LIBRARY_PATH=$root ldd "$root/lookup" | grep -o '/[^ ]*' | grep -v -F "$root" | while read -r file; do
  cp -L --parents "$file" "$root"
done
holds=$(cd "$root" && find . -type f -printf '%f\n' | sort)
strangers=$(grep -v -E '^(lookup|winners\.db|libgemm_tune\.so\.[0-9]+|ld-linux.*|lib(c|m|stdc\+\+|gcc_s|dl|pthread|rt)\.so\.[0-9]+)$' \
  <<<"$holds" || true)
[ -z "$strangers" ] || fail "the library brings along: $strangers"

LD_LIBRARY_PATH=$root "$root/lookup" "$root/winners.db" >"$scratch/outside"
grep -q '^vectorized_2d/BM=128,.*PRED=1$' "$scratch/outside" || fail "no answer outside: $(cat "$scratch/outside")"
env -i "${below[@]}" "$root" /lookup /winners.db >"$scratch/inside" ||
  fail "the look-up below the root ends with $?"
cmp "$scratch/outside" "$scratch/inside"

# Without a database and a home: a sentence.
for argument in '' /missing.db; do
  status=0
  # shellcheck disable=SC2086  # none or one
  env -i "${below[@]}" "$root" /lookup $argument >"$scratch/inside" 2>"$scratch/errors" || status=$?
  [ $status -eq 1 ] || fail "a look-up without a database ends with $status: $(cat "$scratch/errors")"
  [ "$(wc -l <"$scratch/errors")" -eq 1 ] || fail "not one sentence: $(cat "$scratch/errors")"
  cat "$scratch/errors"
done
