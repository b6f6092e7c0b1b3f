#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# served_winners.sh BUILD OUT [BUDGET]: tunes 14 problems into OUT/served.db, algorithms of libraries among the
# candidates, and prints what the library then serves beside cuBLAS's own choice and cublasLt's best (served_winners.cpp).
# BUDGET: kernels tried for each problem (64). A run that was cut off goes on where it was. Needs a GPU.
set -euo pipefail

build=$1 out=$2 budget=${3:-64}
mkdir -p "$out"
problems=()
for type in "" :type=bf16; do
  problems+=("16x4096x4096$type:layout=nt" "128x4096x4096$type" "2048x50257x1024$type" "1000x1000x1000$type"
    "10000x10x10000$type" "49x49x32$type:batch=1536" "2048x768x3072$type:layout=nt")
done
"$build/bin/gemm-tune" --require-gpu -q --db "$out/served.db" --budget "$budget" --baselines cublas,cublaslt \
  --sizes "$(IFS=,; echo "${problems[*]}")"
"$build/bin/served_winners" "$out/served.db" "${problems[@]}"
