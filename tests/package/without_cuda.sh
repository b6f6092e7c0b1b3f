#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# without_cuda.sh PROGRAM MAKE_DATABASE HIDE_LIBRARIES LIBRARIES_OF_CUDA: where CUDA's libraries are hidden by the audit
# module HIDE_LIBRARIES, PROGRAM answers from a database, and says in one sentence what a compilation would need. Where
# NVRTC, of the folder LIBRARIES_OF_CUDA, lies as NVIDIA's wheel has it in the active Python environment, PROGRAM compiles.
set -euo pipefail
program=$1 make_database=$2 hide_libraries=$3 libraries_of_cuda=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && cat "$scratch/errors" && exit 1; }
without_cuda() { LD_AUDIT=$hide_libraries GT_HIDDEN='libcu libnvrtc' "$@"; }

"$make_database" "$scratch/winners.db"
without_cuda "$program" best --arch sm_86 --sizes 1024 --db "$scratch/winners.db" >"$scratch/answer" 2>"$scratch/errors" ||
  fail "best ends with $?"
grep -q vectorized_2d/BM=128 "$scratch/answer" || fail "best does not answer"
! grep 'hidden: libnvrtc' "$scratch/errors" || fail "best asks for NVRTC"
for command in 'db info' 'export --arch sm_86'; do
  # shellcheck disable=SC2086  # words
  without_cuda "$program" $command --db "$scratch/winners.db" >"$scratch/answer" 2>"$scratch/errors" || fail "$command ends with $?"
done

for line in 'gemm-tune [0-9.]+' 'schema [0-9]+' 'kernels [0-9a-f]{16} \([0-9]+ families\)' 'NVRTC not found' 'driver not found' \
  'database /.*/gemm-tune\.db'; do
  XDG_DATA_HOME=$scratch GEMM_TUNE_DB='' without_cuda "$program" --version >"$scratch/answer" 2>"$scratch/errors" ||
    fail "--version ends with $?"
  grep -q -x -E "$line" "$scratch/answer" || fail "--version has no line '$line': $(cat "$scratch/answer")"
done

# A dry run compiles nothing.
without_cuda "$program" --arch sm_86 --sizes 256 --dry-run --db "$scratch/winners.db" >"$scratch/answer" 2>"$scratch/errors" ||
  fail "a dry run ends with $?"
grep -q '^256x256x256 on .* enumerated' "$scratch/answer" || fail "a dry run counts nothing: $(cat "$scratch/answer")"

status=0
without_cuda "$program" --arch sm_86 --sizes 256 --db "$scratch/new.db" 2>"$scratch/errors" >"$scratch/answer" || status=$?
[ $status -eq 3 ] || fail "tuning without NVRTC ends with $status"
[ "$(grep -c -v hidden: "$scratch/errors")" -eq 1 ] || fail "tuning without NVRTC does not say one sentence"
grep -q '^gemm-tune: NVRTC 13 cannot be opened (.*): install .*, or run .pip install "nvidia-cuda-nvrtc==13\.\*". in the active Python environment$' "$scratch/errors" ||
  fail "tuning without NVRTC does not say what to install"
[ ! -e "$scratch/new.db" ] || fail "tuning without NVRTC leaves a database"

packages=$scratch/venv/lib/python3.12/site-packages
mkdir -p "$packages/nvidia/cu13/lib"
ln -s "$libraries_of_cuda"/libnvrtc*.so.13* "$packages/nvidia/cu13/lib"
VIRTUAL_ENV=$scratch/venv GT_SHOWN=$scratch/venv without_cuda "$program" --arch sm_86 --sizes 256 --db "$scratch/new.db" \
  --config naive/BM=16,BN=16,COALESCED=1,PRED=0 --no-kernel-cache >"$scratch/answer" 2>"$scratch/errors" ||
  fail "tuning with NVRTC of a wheel ends with $?"
[ -e "$scratch/new.db" ] || fail "tuning with NVRTC of a wheel stores nothing"

# NVRTC without its builtins: a package that is not whole.
status=0
LD_AUDIT=$hide_libraries GT_HIDDEN='libnvrtc-builtins' CUDA_VISIBLE_DEVICES='' "$program" --arch sm_86 --sizes 64 \
  --config naive/BM=16,BN=16,COALESCED=1,PRED=0 --no-kernel-cache --db "$scratch/new.db" >"$scratch/answer" 2>"$scratch/errors" ||
  status=$?
[ $status -eq 3 ] || fail "a search without NVRTC's builtins ends with $status"
grep -q 'finds no libnvrtc-builtins.so.13.* that fits it: the file belongs beside libnvrtc.so.13, in /.*cuda-nvrtc-13-0' "$scratch/errors" ||
  fail "a search without NVRTC's builtins does not say what is missing"
