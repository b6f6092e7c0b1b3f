#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consumer.sh BUILD_DIR PROJECT_DIR CXX GENERATOR MAKE_DATABASE HIDE_LIBRARIES cmake|pkg-config: installs the library into
# an empty prefix, builds the outside project against nothing but that prefix, and runs it, also where CUDA's libraries
# and the driver's are hidden by the audit module HIDE_LIBRARIES. The program finds the library without LD_LIBRARY_PATH.
# CXX and GENERATOR are CMake's.
set -euo pipefail
unset LD_LIBRARY_PATH LD_RUN_PATH
build=$1 project=$2 cxx=$3 generator=$4 make_database=$5 hide_libraries=$6 way=$7
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for component in library development; do
  cmake --install "$build" --component $component --prefix "$scratch/prefix" >/dev/null
done

libraries=$(find "$scratch/prefix" -name '*.so*' -type f -printf '%f ' -o -name '*.a' -printf '%f ')
case "$libraries" in # beside what plug-ins of families are built with
  'libgemm_tune_family.a libgemm_tune.so.'*' ' | 'libgemm_tune.so.'*' libgemm_tune_family.a ') ;;
  *) echo "installed the libraries $libraries" && exit 1 ;;
esac

if [ "$way" = cmake ]; then
  cmake -G "$generator" -S "$project" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$cxx"
  cmake --build "$scratch/build"
else
  command -v pkg-config >/dev/null || { echo "no pkg-config here" && exit 77; }
  PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name gemm_tune.pc)")
  export PKG_CONFIG_PATH
  mkdir "$scratch/build"
  # shellcheck disable=SC2046  # flags are words
  "$cxx" -std=c++17 "$project/lookup.cpp" -o "$scratch/build/lookup_cpp" $(pkg-config --cflags --libs gemm_tune)
  # Plain C, by the C compiler of the system.
  # shellcheck disable=SC2046
  cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$project/lookup.c" -o "$scratch/build/lookup_c" \
    $(pkg-config --cflags --libs gemm_tune)
fi
"$make_database" "$scratch/winners.db"
for program in "$scratch"/build/lookup_*; do
  [ -x "$program" ] || continue
  "$program" "$scratch/winners.db" | tee "$scratch/output"
  grep -q '^vectorized_2d/BM=128,.*PRED=1$' "$scratch/output"  # 1000x1004x1020 is ragged
  # A look-up asks for none of CUDA's libraries.
  LD_AUDIT=$hide_libraries GT_HIDDEN='libcu libnv' "$program" "$scratch/winners.db" >"$scratch/without" 2>"$scratch/asked"
  cmp "$scratch/output" "$scratch/without"
  [ ! -s "$scratch/asked" ] || { cat "$scratch/asked" && exit 1; }
  ! "$program" "$scratch/missing.db" 2>/dev/null || { echo "opened a missing database" && exit 1; }
done
if [ -x "$scratch/build/lookup_c" ]; then  # without an argument: the default database
  GEMM_TUNE_DB="$scratch/winners.db" "$scratch/build/lookup_c" | grep -q '^vectorized_2d/BM=128,.*PRED=1$'
fi
