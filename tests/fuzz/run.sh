#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh TARGET|all [RUNS|SECONDSs] [LIBFUZZER-OPTION...], as in: run.sh sizes 1000000, run.sh all 60s -seed=1
#
# Builds the libFuzzer targets by the preset fuzz (clang; no CUDA) and runs one or each for so many inputs (1000000
# unless told) or seconds, as many targets at once as there are cores. What is learned between runs is kept in
# build/fuzz/corpus, findings in build/fuzz/findings; the tree's corpus is only read. Prints one line for each target;
# exits 1 and names the input where there is a finding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -gt 0 ] || { sed -n '2s/^# //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
target=$1 amount=${2:-1000000} build=build/fuzz
shift $(($# < 2 ? $# : 2))

[ -f $build/build.ninja ] || cmake --preset fuzz >/dev/null
ninja -C $build --quiet fuzz | { grep -v -E '^ninja: (no work|Entering)' >&2 || true; }

# In memory: the targets write a file for each input.
TMPDIR=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p $build/findings
# Freed memory is watched over within an input, not for 256 MB of them: a quarter faster.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# fuzz TARGET AMOUNT OPTION...: one target's line of the table; libFuzzer's own output goes to a file.
fuzz() {
  local target=$1 amount=$2 log=build/fuzz/$1.log status=0 limit options=()
  shift 2
  case $amount in
    *s) limit=-max_total_time=${amount%s} ;;
    *) limit=-runs=$amount ;;
  esac
  if [ -f "tests/fuzz/dict/$target.dict" ]; then options=(-dict="tests/fuzz/dict/$target.dict"); fi
  mkdir -p "build/fuzz/corpus/$target"
  "build/fuzz/bin/fuzz_$target" "$limit" -timeout=20 -print_final_stats=1 "${options[@]}" \
    -artifact_prefix="build/fuzz/findings/$target-" "$@" "build/fuzz/corpus/$target" \
    "tests/fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then
    grep -v -E '^#[0-9]|^INFO:|NEW_FUNC' "$log" | tail -n 40
    echo "$target: a finding; its input is in build/fuzz/findings, and all that was said in $log"
    return 1
  fi
  sed -n -E "s/^#([0-9]+).DONE +cov: ([0-9]+) ft: ([0-9]+) corp: ([0-9]+).*exec\/s: ([0-9]+).*/\
$target: \1 inputs, \5 a second; edges \2, features \3, corpus \4: no finding/p" "$log"
}
export -f fuzz

targets=("$target")
if [ "$target" = all ]; then mapfile -t targets < <(cd $build/bin && printf '%s\n' fuzz_* | sed 's/^fuzz_//'); fi
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz "$@"' fuzz {} "$amount" "$@"
