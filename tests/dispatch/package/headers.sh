#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh INCLUDE CUDA_INCLUDE: whether the library's headers compile without a warning in an outside program, before
# and after CUDA's own, in C and in C++, with every compiler at hand. CUDA's header is a system header, ours is not.
set -euo pipefail
include=$1 cuda=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compiled=0

# compile COMPILER LANGUAGE STANDARD LINE...: a source of these lines.
compile() {
  local compiler=$1 language=$2 standard=$3
  shift 3
  printf '%s\n' "$@" 'int main(void) { return 0; }' >"$scratch/source"
  command -v "$compiler" >/dev/null || return 0
  "$compiler" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I "$include" -isystem "$cuda" \
    -fsyntax-only "$scratch/source" || { echo "$compiler -std=$standard, of: $*" && exit 1; }
  compiled=$((compiled + 1))
}

ours='#include <gemm_tune/gemm_tune.h>' wrapper='#include <gemm_tune/gemm_tune.hpp>'
cudas='#include <cuda_runtime_api.h>'
launch='gt_status launch(gt_handle* handle, cudaStream_t stream);
gt_status launch(gt_handle* handle, cudaStream_t stream) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  if (call.size == 0) return gt_gemm(handle, stream, &call);
  return gt_sgemm(handle, stream, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1);
}'
for compiler in gcc clang; do
  for standard in c99 c11; do
    compile "$compiler" c "$standard" "$ours"
    compile "$compiler" c "$standard" "$ours" "$cudas" "$launch"
    compile "$compiler" c "$standard" "$cudas" "$ours" "$launch"
  done
done
for compiler in g++ clang++; do
  for header in "$ours" "$wrapper"; do
    compile "$compiler" c++ c++17 "$header"
    compile "$compiler" c++ c++17 "$header" "$cudas" "$launch"
    compile "$compiler" c++ c++17 "$cudas" "$header" "$launch"
  done
done
[ "$compiled" -ge 12 ] || { echo "only $compiled compilations: no compiler of C and C++ here" && exit 1; }
echo "$compiled compilations without a warning"
