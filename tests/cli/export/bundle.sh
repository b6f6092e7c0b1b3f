#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bundle.sh PROGRAM MAKE_DATABASE FAKE_DRIVER HIDE_LIBRARIES CXX SOURCE_DIR: exports two architectures into one folder,
# builds the outside project beside it, and runs it on a fake driver, where NVRTC and the CUDA runtime are hidden.
set -euo pipefail
program=$1 make_database=$2 driver=$3 hide_libraries=$4 cxx=$5 source=$6
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && cat "$scratch/errors" && exit 1; }
export CUDA_VISIBLE_DEVICES='' GEMM_TUNE_DB=$scratch/winners.db XDG_CACHE_HOME=$scratch/cache
: >"$scratch/errors"
export_bundle() { "$program" export -q --format bundle "$@" >"$scratch/output" 2>"$scratch/errors"; }
# refuses EXIT_CODE TEXT ARGUMENTS...
refuses() {
  local wanted=$1 text=$2 status=0
  shift 2
  export_bundle "$@" || status=$?
  [ $status -eq "$wanted" ] || fail "export $* ends with $status"
  grep -q "^gemm-tune: .*$text" "$scratch/errors" || fail "export $* does not say '$text'"
}

"$make_database" "$GEMM_TUNE_DB" sm_90
refuses 2 'name it with -o' --arch sm_86
refuses 2 'leave --kernel-dir out' --arch sm_86 --kernel-dir "$source" -o "$scratch/bundle"
refuses 4 'no usable winner for sm_80' --arch sm_80 -o "$scratch/bundle"
[ ! -e "$scratch/bundle" ] || fail "a refused export leaves a folder"
echo mine >"$scratch/file"
refuses 2 "file' cannot be made" --arch sm_86 -o "$scratch/file"
grep -q mine "$scratch/file" || fail "a refused export changes a file"

for arch in sm_86 sm_90; do export_bundle --arch $arch -o "$scratch/bundle" || fail "export ends with $?"; done
[ "$(wc -l <"$scratch/bundle/gemm_tune_bundle.hpp")" -le 200 ] || fail "the loader is longer than 200 lines"
# A bundle that meets a full disk, or is interrupted, leaves what was there and nothing else.
before=$(cd "$scratch" && find bundle -type f -exec sha256sum {} + | sort)
stays() {
  [ "$(cd "$scratch" && find bundle -type f -exec sha256sum {} + | sort)" = "$before" ] || fail "$1 changes the bundle"
  [ ! -e "$scratch/new" ] || fail "$1 leaves a folder"
  [ -z "$(find "$scratch" -name '.gemm-tune-*')" ] || fail "$1 leaves files aside"
}
for folder in bundle new; do
  (ulimit -f 4 && refuses 7 "$folder/.*' cannot be written: File too large" --arch sm_86 -o "$scratch/$folder")
  stays "a full disk"
done
interrupted() { # by its first compilation
  local status=0
  LD_AUDIT=$hide_libraries GT_INTERRUPTED_AT=libnvrtc-builtins XDG_CACHE_HOME=$scratch/other-cache \
    "$program" export -q --format bundle --arch sm_86 -o "$scratch/new" 2>"$scratch/errors" || status=$?
  [ $status -eq 130 ] || fail "an interrupted export ends with $status"
}
interrupted
stays "an interruption"
flags=(-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror -I "$scratch/bundle")
"$cxx" "${flags[@]}" "$source/examples/bundle/main.cpp" -o "$scratch/multiply" "$driver"
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$driver")
multiply() {
  GT_FAKE_SM=$1 LD_AUDIT=$hide_libraries GT_HIDDEN='libnvrtc libcudart libgemm' "$scratch/multiply" "$scratch/bundle" \
    >"$scratch/output" 2>"$scratch/errors"
}
for sm in 86 90; do
  multiply $sm || fail "the products on sm_$sm end with $?"
  [ "$(wc -l <"$scratch/output")" -eq 4 ] || fail "not four products on sm_$sm"
  [ ! -s "$scratch/errors" ] || fail "on sm_$sm"
done
# A kernel that is cut short, has another's bytes or a wrong bit is no kernel.
kernels=("$scratch"/bundle/sm_86/*.cubin)
damaged() {
  ! multiply 86 || fail "the products by a kernel that is $1"
  grep -q "bundle/sm_86/.*.cubin' is damaged: export the bundle again$" "$scratch/errors" || fail "of a kernel that is $1"
}
mkdir "$scratch/sound" && cp "${kernels[@]}" "$scratch/sound"
for kernel in "${kernels[@]}"; do truncate -s -100 "$kernel"; done
damaged "cut short"
for kernel in "${kernels[@]}"; do truncate -s 5 "$kernel"; done
damaged "of 5 bytes"
for kernel in "${kernels[@]}"; do
  cp "$scratch/sound/${kernel##*/}" "$kernel"
  printf '\377' | dd of="$kernel" bs=1 seek=900 conv=notrunc status=none
done
damaged "changed"
cp "$scratch"/sound/* "$scratch/bundle/sm_86"
multiply 86 || fail "the products by the sound kernels end with $?"
! multiply 75 || fail "products on an architecture that the bundle lacks"
grep -q '^wrong on sm_75$' "$scratch/errors" || fail "on sm_75"

cat >"$scratch/faults.cpp" <<'END'
#include "gemm_tune_bundle.hpp"
#include "gemm_tune_sm_86.h"
#include <cstdio>
using namespace gemm_tune_bundle;
template <class Act>
static void say(const Act& act) {
  try {
    act();
    std::puts("nothing wrong");
  } catch (const std::invalid_argument& error) {
    std::printf("argument: %s\n", error.what());
  } catch (const std::runtime_error& error) {
    std::printf("%s\n", error.what());
  }
}
int main(int, char** argv) {
  say([&] { Bundle bundle(argv[1]); });
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 0;
  int context = 0;
  reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"))(&context);
  Bundle bundle(argv[1]);
  alignas(16) float a[256], c[256];
  const gemm_tune_sm_86::Problem problem{16, 16, 16, 4};
  say([&] { bundle.gemm(problem, {1, a + 1, 16, a, 16, 0, c, 16}, nullptr); });
  say([&] { bundle.gemm(problem, {1, a, 16, a, 12, 0, c, 16}, nullptr); });
  say([&] { bundle.gemm(gemm_tune_sm_86::Problem{0, 16, 16, 4}, {1, a, 16, a, 16, 0, c, 16}, nullptr); });
  say([&] { bundle.gemm(problem, {1, a, 16, a, 16, 0, c, 16}, nullptr); });
  gemm_tune_sm_86::Problem operands{16, 16, 16, 1};
  operands.alignment_a = 4;
  say([&] { bundle.gemm(operands, {1, a + 1, 16, a, 16, 0, c, 16}, nullptr); });
  say([&] { bundle.gemm(operands, {1, a, 16, a + 1, 17, 0, c + 1, 17}, nullptr); });
}
END
"$cxx" "${flags[@]}" "$scratch/faults.cpp" -o "$scratch/faults" -ldl
"$scratch/faults" "$scratch/nowhere" | sed "s|$scratch/||; s|/sm_86/.*'|/sm_86/...'|" >"$scratch/output"
cat >"$scratch/expected" <<'END'
no CUDA context is current: call cudaSetDevice() first
argument: A is not aligned as the problem says
argument: ld of B is below a row
argument: no kernel serves the problem
the bundle lacks 'nowhere/sm_86/...'
argument: A is not aligned as the problem says
the bundle lacks 'nowhere/sm_86/...'
END
diff "$scratch/expected" "$scratch/output" || fail "the faults' sentences differ"
LD_AUDIT=$hide_libraries GT_HIDDEN=libcuda "$scratch/faults" nowhere 2>/dev/null |
  grep -q '^cuInit failed: install the NVIDIA driver' || fail "no sentence without a driver"
