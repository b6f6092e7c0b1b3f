#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exported_symbols.sh LIBRARY INCLUDE_DIR: LIBRARY exports the functions of gemm_tune.h, each with a symbol version, and
# nothing else.
set -euo pipefail
library=$1 include=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

grep '^GT_API ' "$include/gemm_tune/gemm_tune.h" | grep -o '\bgt_[a-z_]*(' | tr -d '(' | sort -u >"$scratch/functions"
[ -s "$scratch/functions" ]
readelf --wide --dyn-syms "$library" | awk '$7 ~ /^[0-9]+$/ && $5 != "LOCAL" {print $8}' |
  sed -E 's/@@GEMM_TUNE_[0-9]+$//; t; s/$/ without a version/' | sort >"$scratch/exported"
diff "$scratch/functions" "$scratch/exported" || { echo "the header's functions (<) and the exported symbols (>) differ" && exit 1; }
