#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# include_arrows.sh ROOT: checks who includes whom, and which CUDA headers are used at all.
# include_arrows.sh --self-test: checks that it notices.
#
# Prints one line for each #include that breaks a rule; exits 1 if there is one. Looks at the text only:
# an #include behind an #if counts.
set -euo pipefail

folders=(core gpu kernel_templates search db choose runtime dispatch tuner cli research python)
# FOLDER: what it may include besides itself and the standard library. Nothing forms a circle; tuner and
# dispatch do not know each other. Below core/, gpu/, search/, db/, tuner/ and cli/, the folders of the same one.
may_include='
core:
core/text:
core/files: core/text
core/types: core/text
core/problem: core/types core/text
core/launch: core/problem core/types core/text
core/candidate: core/text
core/device: core/text
gpu: core
gpu/launch:
gpu/cuda_libraries:
gpu/compile: gpu/cuda_libraries
kernel_templates: core
search: core kernel_templates
search/space:
search/model:
search/strategy: search/space
db: core kernel_templates
db/schema:
db/validity:
db/file: db/schema
db/transfer: db/file db/schema db/validity
choose: core kernel_templates search db
runtime: core gpu kernel_templates
dispatch: core gpu kernel_templates search db choose runtime
python: core gpu kernel_templates dispatch
tuner: core gpu kernel_templates search db choose runtime
tuner/cluster:
tuner/process:
tuner/measure:
tuner/trace:
tuner/work: tuner/process tuner/measure
tuner/plan: tuner/process tuner/work tuner/measure
tuner/job: tuner/plan tuner/process tuner/work tuner/measure
tuner/range: tuner/job tuner/plan tuner/process tuner/work tuner/measure
tuner/agents: tuner/cluster tuner/job tuner/plan tuner/process tuner/work tuner/measure
tuner/report: tuner/range tuner/job tuner/plan tuner/process tuner/work tuner/measure
tuner/mpi: tuner/agents tuner/cluster tuner/report tuner/job tuner/plan tuner/process tuner/work tuner/measure
research: core kernel_templates search db tuner
cli: core gpu kernel_templates search db choose runtime tuner
cli/output:
cli/help: cli/arguments cli/output
cli/arguments: cli/output
cli/tune: cli/arguments cli/output cli/help
cli/explain: cli/arguments cli/output
cli/database: cli/arguments cli/output
cli/export: cli/arguments cli/output
cli/capture: cli/arguments cli/output
cli/report: cli/arguments cli/output cli/help
cli/speed_up: cli/capture cli/tune cli/arguments cli/output
cli/mpi: cli/tune cli/arguments cli/output cli/help
'
# These build where there is no CUDA.
no_cuda="core kernel_templates search db choose"
# The whole of CUDA that may be included: what NVIDIA's three small wheels hold. A cuBLAS header would
# cost a download of 400 MB, and cuda_fp16.h another wheel.
cuda_headers="cuda_runtime_api.h nvrtc.h cuda_occupancy.h"
# Which compares the table of functions with it where it is there.
cublas_reader="tests/core/cublas_header_test.cpp"

# Lines "FILE:LINE:#include "HEADER"" of the given folders that exist.
includes_of() {
  local existing=() folder
  for folder in "$@"; do [ ! -d "$folder" ] || existing+=("$folder"); done
  [ ${#existing[@]} -eq 0 ] || grep -rnE --include='*.h' --include='*.cpp' --include='*.cuh' \
    '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${existing[@]}" || true
}

# One pass, since a process for each of the 3000 includes takes a busy machine a minute.
check() {
  includes_of "${folders[@]}" tests bench |
    awk -v arrows="$may_include" -v no_cuda="$no_cuda" -v cuda_headers="$cuda_headers" -v cublas_reader="$cublas_reader" '
      function has(list, word) { return index(" " list " ", " " word " ") > 0 }
      function refuse(why) {
        print location " includes " shown ": " why
        bad = 1
      }
      # The part of a path that the arrows speak of: a folder, or one of those below core/, gpu/, search/, db/, tuner/ and cli/.
      function inner(path) { return match(path, /^(core|gpu|search|db|tuner|cli)\/[^\/]+\//) ? substr(path, 1, RLENGTH - 1) : "" }
      function follow(from, to) {
        if (from != to && !has(may[from], to))
          refuse(from " may include only itself and: " (may[from] == "" ? "nothing" : may[from]))
      }
      BEGIN {
        lines = split(arrows, line, "\n")
        for (i = 1; i <= lines; i++)
          if (match(line[i], /: */)) may[substr(line[i], 1, RSTART - 1)] = substr(line[i], RSTART + RLENGTH)
      }
      {
        match($0, /^[^:]*:[0-9]+:/)
        location = substr($0, 1, RLENGTH - 1)
        file = location
        sub(/:[0-9]+$/, "", file)
        folder = file
        sub(/\/.*/, "", folder)
        match($0, /["<][^">]*[">]/)
        shown = substr($0, RSTART, RLENGTH)
        header = substr(shown, 2, RLENGTH - 2)
        target = header
        sub(/\/.*/, "", target)
        if (shown ~ /^"/ && folder != "tests" && folder != "bench") {
          if (!(target in may)) {
            refuse("write it from the repository root")
          } else {
            follow(folder, target)
            if (folder == target && inner(file) != "" && inner(header) != "") follow(inner(file), inner(header))
          }
        } else if (shown ~ /^</ && header ~ /^(cuda|nvrtc|cublas|cu[A-Z]|crt\/|curand|driver_types|vector_types)/) {
          if (has(no_cuda, folder)) refuse(folder " builds without CUDA")
          else if (header == "cublas_api.h" && file == cublas_reader) next
          else if (!has(cuda_headers, header)) refuse("of CUDA only " cuda_headers)
        }
      }
      END { exit bad }'
}

self_test() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  mkdir -p core search db/{schema,transfer} tuner/{report,job,work,measure} cli/output
  echo '#include "core/candidate/outcome.h"' >search/good.h
  echo '#include <nvrtc.h>' >tuner/good.cpp
  echo '#include "tuner/measure/verify.h"' >tuner/report/good.cpp
  check || { echo "self-test: complains about a sound tree" && exit 1; }
  local bad=('core/a.h|#include "db/database.h"' 'db/a.cpp|#  include "search/space/space.h"' 'tuner/a.cpp|#include "dispatch/plan.h"' 'db/schema/a.cpp|#include "db/transfer/merge.h"'
    'tuner/measure/a.h|#include "tuner/work/protocol.h"' 'tuner/report/a.h|#include "cli/arguments/options.h"' 'cli/output/a.h|#include "cli/arguments/options.h"'
    'tuner/work/a.cpp|#include "tuner/new/a.h"' 'search/a.cpp|#include "space.h"' 'search/a.cpp|#include <cuda_runtime_api.h>' 'tuner/a.cpp|#include <cublas_v2.h>')
  local case
  for case in "${bad[@]}"; do
    echo "${case#*|}" >"${case%%|*}"
    ! check >/dev/null || { echo "self-test: does not notice ${case#*|} in ${case%%|*}" && exit 1; }
    rm "${case%%|*}"
  done
  echo "self-test: ${#bad[@]} bad includes noticed"
}

if [ "$1" = --self-test ]; then
  self_test
else
  cd "$1"
  check
fi
