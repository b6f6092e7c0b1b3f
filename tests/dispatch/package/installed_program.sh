#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# installed_program.sh BUILD_DIR SOURCE_DIR MAKE_DATABASE CXX: installs everything into an empty prefix and runs the
# program there on the default database: its exported header names kernels that the prefix holds and that compile.
set -euo pipefail
build=$1 source=$2 make_database=$3 cxx=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }
for component in library development program; do
  cmake --install "$build" --component $component --prefix "$scratch/prefix" >/dev/null
done
program=$scratch/prefix/bin/gemm-tune texts=$scratch/prefix/share/gemm-tune

# An empty entry would be the working directory; a folder of this machine is nobody else's.
search_path() { readelf -d "$1" | sed -n 's/.*(R[A-Z]*PATH).*\[\(.*\)\]/\1/p'; }
for file in "$build"/bin/gemm-tune* "$build"/dispatch/lib*.so "$scratch"/prefix/bin/* "$scratch"/prefix/lib*/lib*.so; do
  found=$(search_path "$file")
  case "$found" in '' | [!:]*) ;; *) fail "$file searches the working directory: $found" ;; esac
  case "$found" in *::* | *:) fail "$file searches the working directory: $found" ;; esac
done
for file in "$scratch"/prefix/bin/* "$scratch"/prefix/lib*/lib*.so; do
  # shellcheck disable=SC2016  # the loader's own word
  for folder in $(search_path "$file" | tr ':' ' '); do
    [ "$folder" = '$ORIGIN/../lib' ] || [ "$folder" = /usr/local/cuda/lib64 ] || fail "$file searches $folder"
  done
done

unset GEMM_TUNE_DB
export CUDA_VISIBLE_DEVICES='' XDG_DATA_HOME=$scratch/data
mkdir -p "$XDG_DATA_HOME/gemm-tune"
"$make_database" "$XDG_DATA_HOME/gemm-tune/gemm-tune.db"
"$program" best --arch sm_86 --sizes 1024 | grep -q vectorized_2d/BM=128 || fail "best does not answer from the default database"
"$program" export --arch sm_86 --format header -o "$scratch/gemm_tune_sm_86.h"

# What the header says of its kernels' texts.
grep -q 'below share/gemm-tune' "$scratch/gemm_tune_sm_86.h" || fail "the header does not say where the texts are"
named=$(grep -o '"kernel_templates/[^"]*"' "$scratch/gemm_tune_sm_86.h" | tr -d '"' | sort -u)
[ -n "$named" ] || fail "the header names no text"
for text in $named; do [ -f "$texts/$text" ] || fail "the header names $text, which is not installed"; done
# All texts, as the program has them inside.
while read -r text; do
  cmp "$source/$text" "$texts/$text"
done < <(cd "$source" && find kernel_templates -name '*.cuh' -o -path kernel_templates/rules.h)
"$program" explain --arch sm_86 --sizes 1024 --kernel-dir "$texts" >"$scratch/explained" || fail "explain ends with $?"
grep -q 'registers a thread  *[0-9]' "$scratch/explained" || fail "the installed texts do not compile: $(cat "$scratch/explained")"

[ -f "$texts/json-output.schema.json" ] || fail "the schema of the JSON output is not installed"

# The kernel's argument, in an outside program beside the header.
cat >"$scratch/main.cpp" <<'END'
#include "gemm_tune_sm_86.h"
#include <kernel_templates/device/call/gemm_args.cuh>
static_assert(gemm_tune_sm_86::lookup({1024, 1024, 1024, 4}).match == gemm_tune_sm_86::Match::exact, "");
int main() { return gemm_tune::GemmArgs{}.M; }
END
"$cxx" -std=c++17 -Wall -Wextra -Werror -I "$texts" -o "$scratch/main" "$scratch/main.cpp"
"$scratch/main"
