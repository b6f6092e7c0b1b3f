#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# without_nvrtc.sh CACHED_CUBIN HIDE_LIBRARIES: a kernel that lies in the cache is taken from there without NVRTC being
# opened; one that does not is a sentence with what to install.
set -euo pipefail
cached_cubin=$1 hide_libraries=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && cat "$scratch/errors" && exit 1; }
without_nvrtc() { LD_AUDIT=$hide_libraries GT_HIDDEN=libnvrtc "$@" 2>"$scratch/errors"; }

"$cached_cubin" "$scratch/cache" >"$scratch/compiled"
without_nvrtc "$cached_cubin" "$scratch/cache" >"$scratch/cached" || fail "a cached kernel is not found: $?"
cmp "$scratch/compiled" "$scratch/cached"
[ ! -s "$scratch/errors" ] || fail "a cached kernel needs NVRTC"

! without_nvrtc "$cached_cubin" "$scratch/empty" || fail "compiled without NVRTC"
grep -q 'hidden: libnvrtc' "$scratch/errors" || fail "NVRTC was not hidden"
grep -q '^NVRTC 13 cannot be opened .*: install .*, or run .pip install "nvidia-cuda-nvrtc==13\.\*". in the Python environment and put .*/lib on LD_LIBRARY_PATH$' "$scratch/errors" || fail "no sentence"
