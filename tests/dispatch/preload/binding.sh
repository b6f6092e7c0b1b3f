#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# binding.sh DROP_IN LINKED_CLIENT OPENING_CLIENT PLUGIN: the drop-in's names take the place of a cuBLAS's in programs that
# know nothing of it; it exports no others and needs nothing but the C library.
set -euo pipefail
drop_in=$1 linked=$2 opening=$3 plugin=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GEMM_TUNE_BLAS_REPORT="$scratch/report.jsonl"

# expect WORDS EXIT_CODE COMMAND...
expect() {
  local words=$1 code=$2 said=0 output
  shift 2
  output=$("$@") || said=$?
  [ "$output" = "$words" ] && [ $said -eq "$code" ] ||
    { echo "$* said '$output' and exited with $said, not '$words' and $code" && exit 1; }
}
expect cublas 5 "$linked" 64
expect cublas 5 "$opening" "$plugin"
[ ! -e "$GEMM_TUNE_BLAS_REPORT" ]
expect gemm-tune 5 env LD_PRELOAD="$drop_in" "$linked" 64
expect gemm-tune 5 env LD_PRELOAD="$drop_in" "$opening" "$plugin"
[ "$(grep -c '"served":1' "$GEMM_TUNE_BLAS_REPORT")" -eq 2 ]
expect "no cuBLAS here" 0 env LD_PRELOAD="$drop_in" echo "no cuBLAS here"
[ "$(wc -l <"$GEMM_TUNE_BLAS_REPORT")" -eq 4 ]

exported=$(nm -D --defined-only "$drop_in" | awk '{print $3}' | LC_ALL=C sort | tr '\n' ' ')
expected="cublasGemmEx cublasGemmEx_64 cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64 cublasLtMatmul cublasSgemmEx \
cublasSgemmEx_64 cublasSgemmStridedBatched cublasSgemmStridedBatched_64 cublasSgemm_v2 cublasSgemm_v2_64 "
[ "$exported" = "$expected" ] || { echo "exports $exported" && exit 1; }
needed=$(readelf -d "$drop_in" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -E '^(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so' || true)
[ -z "$needed" ] || { echo "needs $needed" && exit 1; }
