#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# programs.sh RELEASED LIBRARY DRIVER CXX: the programs of the folder RELEASED compile with today's headers and with its
# exported header, and give today what they gave then: by the library LIBRARY, by the look-up of the header, and by the
# bundle's kernel and today's loader on the fake driver DRIVER.
set -euo pipefail
released=$1 library=$2 driver=$3 cxx=$4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }
# prints PROGRAM... PATTERN: its lines, in a row, match.
prints() {
  local pattern=${*: -1} output
  output=$("${@:1:$#-1}" 2>&1 | tr '\n' ' ') || fail "$1 ends badly: $output"
  [[ $output =~ $pattern ]] || fail "$1 prints '$output', not '$pattern'"
  echo "$output"
}
warnings=(-Wall -Wextra -Wpedantic -Werror)
ln -s "$library" "$scratch/$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
export LD_LIBRARY_PATH=$scratch:$(dirname "$driver")

cp "$released/winners.db" "$scratch"
cc -std=c99 "${warnings[@]}" -I "$root/dispatch/include" "$released/lookup.c" -o "$scratch/lookup_c" "$library"
"$cxx" -std=c++17 "${warnings[@]}" -I "$root/dispatch/include" "$released/lookup.cpp" -o "$scratch/lookup_cpp" "$library"
for program in lookup_c lookup_cpp; do
  prints "$scratch/$program" "$scratch/winners.db" '^[^ ]+/[A-Z_]+=[0-9][^ ]* (nearest|default) match, .*A at multiples of [0-9]+ bytes'
done

found=0
for compiler in "$cxx" g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  for standard in c++17 c++20; do
    "$compiler" -std=$standard "${warnings[@]}" -Wconversion -I "$released/bundle" "$released/header.cpp" -o "$scratch/header"
    prints "$scratch/header" 1024 1024 1024 '^exact: naive/BM=16,BN=16,COALESCED=1,PRED=1, 4096 blocks of 256 threads .*; measured 800.0 us on NVIDIA H100'
    prints "$scratch/header" 1000 1000 1000 '^nearest: naive/BM=16,BN=16,COALESCED=1,PRED=1, 3969 blocks of 256 threads '
    found=$((found + 1))
  done
done
[ $found -ge 2 ] || fail "no compiler"

# The files that a later export puts beside those of an earlier one.
mkdir -p "$scratch/bundle/kernel_templates/device/call"
cp -r "$released/bundle/." "$scratch/bundle"
cp "$root/cli/export/gemm_tune_bundle.hpp" "$scratch/bundle"
cp "$root/kernel_templates/device/call/gemm_args.cuh" "$scratch/bundle/kernel_templates/device/call"
bundle=("$cxx" -std=c++17 "${warnings[@]}" -Wconversion -I "$scratch/bundle" "$released/bundle.cpp" -o "$scratch/multiply" "$driver")
"${bundle[@]}"
export GT_FAKE_SM=90
by='by naive/BM=16,BN=16,COALESCED=1,PRED=1'
prints "$scratch/multiply" "$scratch/bundle" "^256x256x256 $by 250x252x260 $by 100x77x300 $by 64x64x4096 $by \$"
# A later header beside an earlier loader.
sed -i 's/\(constexpr int export_format(const Problem&) { return\) 1;/\1 2;/' "$scratch/bundle/gemm_tune_sm_90.h"
! "${bundle[@]}" 2>"$scratch/errors" || fail "the loader takes a header of a later gemm-tune"
grep -q 'error: .*the header is of a later gemm-tune' "$scratch/errors" || fail "of a later header: $(cat "$scratch/errors")"
