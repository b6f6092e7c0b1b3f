#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exported_symbols.sh LIBRARY INCLUDE_DIR PROGRAM_SOURCE MAKE_DATABASE: LIBRARY exports the functions of gemm_tune.h, each
# with a symbol version, and nothing else; and PROGRAM_SOURCE, linked against a library without versions as those of
# 0.1.0's first builds, runs with LIBRARY.
set -euo pipefail
library=$1 include=$2 source=$3 make_database=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

grep -o '\bgt_[a-z_]*(' "$include/gemm_tune/gemm_tune.h" | tr -d '(' | sort -u >"$scratch/functions"
[ -s "$scratch/functions" ]
readelf --wide --dyn-syms "$library" | awk '$7 ~ /^[0-9]+$/ && $5 != "LOCAL" {print $8}' |
  sed -E 's/@@GEMM_TUNE_[0-9]+$//; t; s/$/ without a version/' | sort >"$scratch/exported"
diff "$scratch/functions" "$scratch/exported" || { echo "the header's functions (<) and the exported symbols (>) differ" && exit 1; }

mkdir "$scratch/old"
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
sed 's/.*/void &(void); void &(void) {}/' "$scratch/functions" >"$scratch/old.c"
cc -shared -fPIC "-Wl,-soname,$soname" -o "$scratch/old/libgemm_tune.so" "$scratch/old.c"
cc -I "$include" "$source" -L "$scratch/old" -lgemm_tune -o "$scratch/program"
"$make_database" "$scratch/winners.db"
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/program" "$scratch/winners.db" | grep -q '^vectorized_2d/BM=128,.*PRED=1$'
