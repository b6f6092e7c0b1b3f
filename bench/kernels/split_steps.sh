#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# split_steps.sh BIN: the launches of products of the class fp32_f16x3, each apart, all of a call, with operands kept, and
# with a product that begins before the split has ended and one that does not, and of fp32_bf16x6 (plan_steps.cpp). BIN: the
# folder of plan_steps. Needs a Hopper GPU; about a minute.
set -euo pipefail

bin=$1
steps() { # SIZE LAYOUT TILES [CLASS [MORE PARAMETERS]]
  local layout=$2 transposed=TA=0,TB=0
  [ "$layout" = nn ] || transposed=TA=0,TB=1
  for overlap in yes no; do
    echo "product overlaps with the split: $overlap"
    "$bin/plan_steps" "$1:type=f32+${4:-fp32_f16x3}:layout=$layout" "wgmma_parts/$3,PROMOTE=64,$transposed${5:-}" --overlap "$overlap"
  done
}
for layout in nn nt; do
  steps 4096x4096x4096 $layout BM=128,BN=128,GROUPS=2
  steps 2048x2048x2048 $layout BM=128,BN=128,GROUPS=2
  steps 1536x1536x1536 $layout BM=128,BN=144,GROUPS=2
  steps 1024x1024x1024 $layout BM=128,BN=64,GROUPS=2
  steps 512x512x512 $layout BM=64,BN=32,GROUPS=1
done
steps 8192x8192x8192 nn BM=128,BN=128,GROUPS=2
for size in 4096x4096x4096 2048x2048x2048; do
  steps $size nn BM=128,BN=128,GROUPS=2 fp32_bf16x6 ,ACCURACY=4
done
