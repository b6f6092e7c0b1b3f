#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all stages on a real GPU, with results in OUT: the gpu tests, the default search from an empty
# database, the exhaustive search of the same space, the ladder, and compute-sanitizer on one config of
# each family and each feature (tests/runtime/every_feature.txt).
#
# usage: bench/search/first_light.sh PROGRAM OUT [STAGE...]
#   PROGRAM: the gemm-tune binary; OUT: an existing folder for databases and logs
#   STAGE: default exhaustive ladder sanitizer tensor; all of them unless named. tensor, on Hopper: compute-sanitizer on
#   each config of tests/runtime/tensor_features.txt
set -euo pipefail
here=$(dirname "$(realpath "$0")")
program=$(realpath "$1")
out=$(realpath "$2")
shift 2
stages=${*:-default exhaustive ladder sanitizer tensor}
sizes=${SIZES:-256,1024,4096,1000x1000x1000}

{
  date -u +%Y-%m-%dT%H:%MZ
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$program" --version
} | tee "$out/machine.txt"

stage_default() {
  "$program" --sizes "$sizes" --require-gpu --no-kernel-cache --db "$out/default.db" --seed 1 | tee "$out/default.txt"
}

stage_exhaustive() {
  "$program" --sizes "$sizes" --require-gpu --no-kernel-cache --budget all --db "$out/exhaustive.db" --seed 1 |
    tee "$out/exhaustive.txt"
}

stage_ladder() {
  "$program" ladder --sizes 1024,2048,4096 --require-gpu --db "$out/ladder.db" | tee "$out/ladder.txt"
}

# The program accuracy stands beside gemm-tune; it launches each config in its own process.
stage_sanitizer() {
  local tool
  for tool in memcheck racecheck initcheck synccheck; do
    local rc=0 log="$out/sanitizer-$tool.txt"
    # --bare: else every C is written before, and no read of it would be found.
    compute-sanitizer --tool "$tool" "$(dirname "$program")/accuracy" "$here/../../tests/runtime/every_feature.txt" 1 \
      $([[ $tool == initcheck ]] && echo --bare) >"$log" 2>&1 || rc=$?
    echo "$tool: exit code $rc, $(grep -c ^good "$log") lines good, $(grep -o 'SUMMARY: .*' "$log")"
  done | tee "$out/sanitizer.txt"
}

# The same for tensor cores, by the program verify_configs.
stage_tensor() {
  local tool
  for tool in memcheck racecheck initcheck synccheck; do
    {
      local rc=0 file="$out/tensor-$tool.txt"
      compute-sanitizer --tool "$tool" "$(dirname "$program")/verify_configs" \
        "$here/../../tests/runtime/tensor_features.txt" >"$file" 2>&1 || rc=$?
      echo "$tool: exit code $rc, $(grep -c ^good "$file") lines good, $(grep -o 'SUMMARY: .*' "$file")"
    } &
  done | tee "$out/tensor.txt"
}

for stage in $stages; do
  echo "== $stage"
  time "stage_$stage"
done
