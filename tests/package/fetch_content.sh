#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_content.sh planned|built SOURCE_DIR CUDA_ROOT CXX MAKE_DATABASE: examples/fetch_content, where no package is installed,
# builds the library of SOURCE_DIR alone: nothing of the program, of tests or of studies is built or asked for. 'built' builds
# and runs it, too, which takes minutes.
set -euo pipefail
way=$1 source=$2 cuda_root=$3 cxx=$4 make_database=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }

configure() {
  cmake -G Ninja -S "$source/examples/fetch_content" -B "$scratch/$1" -DCMAKE_CXX_COMPILER="$cxx" -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER \
    -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
    -DCMAKE_UNITY_BUILD=ON -DGT_CUDA_ROOT="$2" >"$scratch/log" 2>&1
}
configure build "$cuda_root" || fail "the project cannot be configured: $(cat "$scratch/log")"
sources=$(ninja -C "$scratch/build" -t inputs all | sed -e "s|^$source||" -e "s|^$scratch||" | grep -E '\.cpp$|unity_.*\.cxx$')
grep -q 'dispatch/CMakeFiles/gemm_tune.dir/Unity' <<<"$sources" || fail "the library is not built: $sources"
strangers=$(grep -E '/(tuner|cli|research|bench|tests)/' <<<"$sources" || true)
[ -z "$strangers" ] || fail "these are built beside the library: $strangers"
! configure without none || fail "a project without CUDA is configured"
grep -q 'gemm_tune::gemm_tune is not built without CUDA 13' "$scratch/log" || fail "what is missing is not said: $(cat "$scratch/log")"

[ "$way" = built ] || exit 0
cmake --build "$scratch/build" --target lookup_fetched >"$scratch/log" || fail "the build ends with $?: $(cat "$scratch/log")"
"$make_database" "$scratch/winners.db"
env -u LD_LIBRARY_PATH "$scratch/build/lookup_fetched" "$scratch/winners.db" | tee "$scratch/output"
grep -q '^vectorized_2d/BM=128,.*PRED=1$' "$scratch/output" || fail "the look-up does not answer"
