#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# walk.sh VENV: what somebody types after `pip install` of the wheel in the environment VENV: the program, the drop-in and the
# Python interface answer there, from the winners that ship, without NumPy and from any folder.
set -euo pipefail
bin=$(cd "$1/bin" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset GEMM_TUNE_DB XDG_DATA_DIRS VIRTUAL_ENV
export HOME=$scratch/home XDG_DATA_HOME=$scratch/data XDG_CACHE_HOME=$scratch/cache CUDA_VISIBLE_DEVICES=''
# says PATTERN COMMAND...: COMMAND ends well and prints PATTERN.
says() {
  local pattern=$1
  shift
  "$@" >out 2>errors || { echo "$* ends with $?: $(cat out errors)" && exit 1; }
  grep -q -E "$pattern" out || { echo "$* prints no '$pattern' but: $(cat out errors)" && exit 1; }
}

says '^gemm-tune [0-9.]+$' "$bin/gemm-tune" --version
says '^layer .*/sm_90-nvidia-h100.*: [1-9][0-9]* winners$' "$bin/gemm-tune" --version
says '^512x512x512 on .* enumerated' "$bin/gemm-tune" --arch sm_90 --sizes 512 --dry-run
says '^512x512x512  exact' "$bin/gemm-tune" best --arch sm_90 --sizes 512
says '^ran$' "$bin/gemm-tune" run -- "$bin/python" -c 'print("ran")'
says '^measured predicted$' "$bin/python" -c 'import sys
sys.modules["numpy"] = None  # as where it is not installed
import gemm_tune
found = gemm_tune.lookup(512, arch="sm_90", device_name="NVIDIA H100 80GB HBM3", sm_count=132)
tuned = gemm_tune.tune(64, budget=1, arch="sm_86", progress=False)
print(found.source, *tuned["source"])'
