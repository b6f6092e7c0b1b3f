#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# accuracy_classes.sh BIN OUT [BUDGET] [CLASS]: tunes fp32 problems in an accuracy class, else fp32_f16x3, and plainly
# into OUT/classes.db, and prints the library's products of both beside cublasSgemm (accuracy_classes.cpp). BIN: the
# folder of gemm-tune and accuracy_classes. BUDGET: kernels tried for each problem (32). A run that was cut off
# goes on where it was. Needs a Hopper GPU.
set -euo pipefail

bin=$1 out=$2 budget=${3:-32} class=${4:-fp32_f16x3}
mkdir -p "$out"
problems=(512x512x512 1024x1024x1024 1536x1536x1536 2048x2048x2048 3072x3072x3072 4096x4096x4096 8192x8192x8192
  4096x512x1024 512x11008x4096:layout=nt 2048x50257x768:layout=nt 1000x1000x1000 1023x1025x1021
  512x512x512:batch=64)
tune() {
  "$bin/gemm-tune" --require-gpu -q --db "$out/classes.db" --budget "$budget" --baselines cublas \
    --sizes "$(IFS=,; echo "$*")"
}
tune "${problems[@]/%/:type=f32+$class}"
tune "${problems[@]}"
"$bin/accuracy_classes" "$out/classes.db" --class "$class" "${problems[@]}"
