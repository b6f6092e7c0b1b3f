#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# target_defaults.sh BUILD_DIR: what the program needs to start another one under the drop-in is built by the target `defaults`,
# which is all that `./run gemm-tune` builds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
grep -A1 -F '  gemm-tune)' "$root/run" | grep -q -F 'build_target defaults' || { echo "./run gemm-tune builds another target" && exit 1; }
named=$(grep -ohE 'libgemm_tune_[a-z_]+\.so' "$root/cli/capture/under_drop_in.cpp" | sort -u)
[ "$(wc -l <<<"$named")" -ge 2 ] || { echo "under_drop_in.cpp names only: $named" && exit 1; }
inputs=$(ninja -C "$1" -t inputs defaults)
for file in $named libgemm_tune.so bin/gemm-tune; do
  grep -q -E "(^|/)${file//./\\.}$" <<<"$inputs" || { echo "defaults does not build $file" && exit 1; }
done
