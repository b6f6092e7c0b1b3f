#!/usr/bin/env bash
# The whole road on a real GPU, into OUT: gpu tests, the default search from an empty database, the
# exhaustive one over the same space, the ladder, and compute-sanitizer over one config of each family.
#
# usage: bench/first_light.sh PROGRAM OUT [STAGE...]
#   PROGRAM: the gemm-tune binary; OUT: an existing folder for databases and logs
#   STAGE: default exhaustive ladder sanitizer; all of them unless named
set -euo pipefail
program=$(realpath "$1")
out=$(realpath "$2")
shift 2
stages=${*:-default exhaustive ladder sanitizer}
sizes=${SIZES:-256,1024,4096,1000x1000x1000}

{
  date -u +%Y-%m-%dT%H:%MZ
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$program" --version
} | tee "$out/machine.txt"

stage_default() {
  "$program" --sizes "$sizes" --require-gpu --db "$out/default.db" --seed 1 | tee "$out/default.txt"
}

stage_exhaustive() {
  "$program" --sizes "$sizes" --require-gpu --budget all --db "$out/exhaustive.db" --seed 1 |
    tee "$out/exhaustive.txt"
}

stage_ladder() {
  "$program" ladder --sizes 1024,2048,4096 --require-gpu --db "$out/ladder.db" | tee "$out/ladder.txt"
}

# The measuring worker is a child process; the ragged shape makes every candidate predicated.
stage_sanitizer() {
  local tool config
  for tool in memcheck racecheck; do
    for config in \
      naive/BM=16,BN=16,COALESCED=0,PRED=1 \
      smem_tiled/BM=16,BN=32,BK=16,UNROLL=1,PRED=1 \
      coarsened_1d/BM=64,BN=64,BK=8,TM=8,PRED=1 \
      tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1 \
      vectorized_2d/BM=64,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1 \
      vectorized_2d/BM=64,BN=64,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0; do
      local size=133x196x92
      [[ $config == *PRED=0 ]] && size=128x192x96
      local log="$out/sanitizer-$tool-${config%%/*}-${config: -1}.txt"
      local rc=0
      compute-sanitizer --tool "$tool" --target-processes all "$program" --sizes "$size" \
        --require-gpu --config "$config" --db "$out/sanitizer.db" >"$log" 2>&1 || rc=$?
      # One summary for each process that used the GPU.
      echo "$tool $config at $size: exit code $rc, $(grep -o ' SUMMARY: .*' "$log" | sort | uniq -c | tr '\n' ';')"
    done
  done | tee "$out/sanitizer.txt"
}

for stage in $stages; do
  echo "== $stage"
  time "stage_$stage"
done
