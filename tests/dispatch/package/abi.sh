#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi.sh check SOURCE CUDA_INCLUDE CXX: whether a program that was built against the library of gemm_tune.abi runs with the
# library of SOURCE: no function is gone, and no type of gemm_tune.h has another layout. Functions and enumerators may be
# added.
# abi.sh self-test SOURCE CUDA_INCLUDE CXX: checks that it notices.
# abi.sh renew SOURCE CUDA_INCLUDE CXX: makes SOURCE's library the one to compare with.
set -euo pipefail
task=$1 source=$2 cuda=$3 cxx=$4
recorded=$(dirname "${BASH_SOURCE[0]}")/gemm_tune.abi
command -v abidw >/dev/null || { echo "no abidw here (Debian package abigail-tools)" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# dump FOLDER FILE: the interface of the library of FOLDER/dispatch, as its debug information has it. Nothing
# of the machine and the compiler is in the dump.
dump() {
  "$cxx" -std=c++20 -g -O0 -fPIC -fvisibility=hidden "-ffile-prefix-map=$1/=" -DGT_VERSION='"0"' -I "$1" -I "$source" \
    -isystem "$cuda" -shared "-Wl,--version-script=$1/dispatch/gemm_tune.map" -o "$scratch/libgemm_tune.so" \
    "$1/dispatch/gemm_tune.cpp"
  abidw --headers-dir "$1/dispatch/include" --drop-private-types --drop-undefined-syms --exported-interfaces-only \
    --no-architecture --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names \
    --out-file "$2" "$scratch/libgemm_tune.so"
}

is_compatible() { abidiff --no-added-syms "$1" "$2"; }

# alter FILE SED...: edits FILE of the copy.
alter() {
  local file=$1
  shift
  sed -E "$@" "$source/$file" >"$scratch/edited"
  ! cmp -s "$scratch/edited" "$source/$file" || { echo "$file has not the text to edit" && exit 1; }
  cp "$scratch/edited" "$scratch/altered/$file"
}

self_test() {
  local header=dispatch/include/gemm_tune/gemm_tune.h
  mkdir "$scratch/altered"
  dump "$source" "$scratch/as_it_is"

  cp -r "$source/dispatch" "$scratch/altered"
  alter $header -e '/^  const char\* arch;/d' -e 's/^  int32_t sm_count;/  const char* arch;\n&/'
  dump "$scratch/altered" "$scratch/moved"
  ! is_compatible "$scratch/as_it_is" "$scratch/moved" >"$scratch/said" || { echo "a moved field passes" && exit 1; }
  grep -q "'const char\* arch' offset changed" "$scratch/said" || { cat "$scratch/said" && exit 1; }

  cp -r "$source/dispatch" "$scratch/altered"
  alter $header 's/^GT_API const char\* gt_version.*/&\nGT_API int gt_added(const gt_device* device);/'
  alter dispatch/gemm_tune.map 's/^ +gt_version;/&\n gt_added;/'
  # shellcheck disable=SC2016  # sed's dollar
  alter dispatch/gemm_tune.cpp '$aint gt_added(const gt_device* device) { return device == nullptr; }'
  dump "$scratch/altered" "$scratch/added"
  is_compatible "$scratch/as_it_is" "$scratch/added" || { echo "an added function does not pass" && exit 1; }
  # The same the other way round: one that is gone.
  ! is_compatible "$scratch/added" "$scratch/as_it_is" >"$scratch/said" || { echo "a missing function passes" && exit 1; }
  grep -q "\[D\] 'function int gt_added" "$scratch/said" || { cat "$scratch/said" && exit 1; }
}

case $task in
  check)
    dump "$source" "$scratch/now"
    is_compatible "$recorded" "$scratch/now" || {
      echo "Programs that were built with an earlier gemm_tune.h may break; see 'Binary interface' in CONTRIBUTING.md."
      exit 1
    }
    ;;
  self-test) self_test ;;
  renew) dump "$source" "$recorded" ;;
esac
