#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# binding.sh FAKES AUDIT CLIENTS PLUGIN PYTHON: the drop-in's names take the place of a cuBLAS's in programs that know
# nothing of it, with the audit module also where these find cuBLAS by dlsym(). It exports no others and needs nothing but
# the C library; the audit module needs not even that.
# FAKES: the folder of the drop-in's copy and of the libraries that the tests' programs use. CLIENTS: of these programs.
set -euo pipefail
fakes=$1 audit=$2 clients=$3 plugin=$4 python=$5
drop_in=$fakes/libgemm_tune_blas.so cublas=$fakes/libcublas.so.13
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
# expect_by PRELOADED AUDITED COMMAND...: who does the call of the program without the drop-in, with it preloaded, and with
# the audit module besides.
expect_by() {
  local preloaded=$1 audited=$2
  shift 2
  expect cublas 5 "$@"
  expect cublas 5 env LD_AUDIT="$audit" "$@"
  [ ! -e "$GEMM_TUNE_BLAS_REPORT" ]
  expect "$preloaded" 5 env LD_PRELOAD="$drop_in" "$@"
  expect "$audited" 5 env LD_PRELOAD="$drop_in" LD_AUDIT="$audit" "$@"
  local served=0 who
  for who in "$preloaded" "$audited"; do [ "$who" = cublas ] || served=$((served + 1)); done
  [ "$(grep -s '"served":1' "$GEMM_TUNE_BLAS_REPORT" | wc -l)" -eq $served ] ||
    { echo "$* was not served $served times" && exit 1; }
  rm -f "$GEMM_TUNE_BLAS_REPORT"
}
opening=$clients/preload_opening_client
expect_by gemm-tune gemm-tune "$clients/preload_client" 64
expect_by gemm-tune gemm-tune "$clients/preload_client_12" 64
expect_by gemm-tune gemm-tune env LD_BIND_NOW=1 "$clients/preload_client" 64
expect_by gemm-tune gemm-tune "$opening" local "$plugin"
expect_by cublas gemm-tune "$opening" deepbind "$plugin"
expect_by cublas gemm-tune "$opening" dlsym "$cublas"
expect_by cublas gemm-tune "$opening" dlsym "$fakes/libcublas.so.12"
# Of two versions the first is served.
expect_by cublas gemm-tune "$opening" dlsym "$fakes/libcublas.so.12" "$fakes/libcublasLt.so.12"
expect_by cublas cublas "$opening" dlsym "$fakes/libcublas.so.12" "$cublas"
expect_by cublas cublas "$opening" namespace "$cublas"
expect_by cublas gemm-tune "$python" "$(dirname "$0")/ctypes_client.py" "$fakes/libcuda.so.1" "$cublas"

# cuBLAS's own calls of cublasLt are cuBLAS's.
for how in "" LD_PRELOAD="$drop_in" "LD_PRELOAD=$drop_in LD_AUDIT=$audit"; do
  # shellcheck disable=SC2086  # words
  expect cublasLt 5 env $how "$opening" inner-lt "$plugin"
done

# A cuBLAS that is closed and opened again is served again.
expect gemm-tune 5 env LD_PRELOAD="$drop_in" "$opening" reopen "$plugin"

rm -f "$GEMM_TUNE_BLAS_REPORT"
expect "no cuBLAS here" 0 env LD_PRELOAD="$drop_in" LD_AUDIT="$audit" echo "no cuBLAS here"
[ ! -e "$GEMM_TUNE_BLAS_REPORT" ]

# exports FILE NAMES
exports() {
  local exported
  exported=$(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort | tr '\n' ' ')
  [ "$exported" = "$2 " ] || { echo "$1 exports $exported" && exit 1; }
}
exports "$drop_in" "cublasCreate_v2 cublasGemmBatchedEx cublasGemmBatchedEx_64 cublasGemmEx cublasGemmEx_64 cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64 cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64 cublasLtMatmul \
cublasSgemmBatched cublasSgemmBatched_64 cublasSgemmEx cublasSgemmEx_64 cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64 cublasSgemmStridedBatched cublasSgemmStridedBatched_64 cublasSgemm_v2 cublasSgemm_v2_64 gemm_tune_blas_report_of"
exports "$audit" "la_objopen la_symbind64 la_version"
# needs_only FILE PATTERN
needs_only() {
  local needed
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -E "$2" || true)
  [ -z "$needed" ] || { echo "$1 needs $needed" && exit 1; }
}
needs_only "$drop_in" '^(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so'
needs_only "$audit" '^$'
