#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# include_arrows.sh ROOT: checks who includes whom, and which CUDA headers are used at all.
# include_arrows.sh --self-test: checks that it notices.
#
# Prints one line for each #include that breaks a rule; exits 1 if there is one. Looks at the text only:
# an #include behind an #if counts.
set -euo pipefail

folders=(core gpu kernel_templates search db choose runtime dispatch tuner)
# What a folder may include besides itself and the standard library. Nothing forms a circle; tuner and
# dispatch do not know each other.
declare -A may_include=(
  [core]=""
  [gpu]="core"
  [kernel_templates]="core"
  [search]="core kernel_templates"
  [db]="core kernel_templates"
  [choose]="core kernel_templates search db"
  [runtime]="core gpu kernel_templates"
  [dispatch]="core gpu kernel_templates search db choose runtime"
  [tuner]="core gpu kernel_templates search db choose runtime"
)
# These build where there is no CUDA.
no_cuda=" core kernel_templates search db choose "
# The whole of CUDA that may be included: what NVIDIA's three small wheels hold. A cuBLAS header would
# cost a download of 400 MB, and cuda_fp16.h another wheel.
cuda_headers=" cuda_runtime_api.h nvrtc.h cuda_occupancy.h "

# Lines "FILE:LINE:#include "HEADER"" of the given folders that exist.
includes_of() {
  local existing=() folder
  for folder in "$@"; do [ ! -d "$folder" ] || existing+=("$folder"); done
  [ ${#existing[@]} -eq 0 ] || grep -rnE --include='*.h' --include='*.cpp' --include='*.cuh' \
    '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${existing[@]}" || true
}

check() {
  local violations=0 file line text folder header target named='include[[:space:]]*["<]([^">]*)[">]'
  while IFS=: read -r file line text; do
    folder=${file%%/*}
    [[ $text =~ $named ]]
    header=${BASH_REMATCH[1]}
    target=${header%%/*}
    if [[ $text == *'"'* ]] && [[ $folder != tests && $folder != bench ]]; then
      if [[ ! -v "may_include[$target]" ]]; then
        echo "$file:$line includes \"$header\": write it from the repository root"
      elif [[ $target != "$folder" && " ${may_include[$folder]} " != *" $target "* ]]; then
        echo "$file:$line includes \"$header\": $folder may include only itself and: ${may_include[$folder]:-nothing}"
      else
        continue
      fi
    elif [[ $text == *'<'* && $header =~ ^(cuda|nvrtc|cublas|cu[A-Z]|crt/|curand|driver_types|vector_types) ]]; then
      if [[ $no_cuda == *" $folder "* ]]; then
        echo "$file:$line includes <$header>: $folder builds without CUDA"
      elif [[ $cuda_headers != *" $header "* ]]; then
        echo "$file:$line includes <$header>: of CUDA only$cuda_headers"
      else
        continue
      fi
    else
      continue
    fi
    violations=$((violations + 1))
  done < <(includes_of "${folders[@]}" tests bench)
  [ "$violations" -eq 0 ]
}

self_test() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  mkdir core search db tuner
  echo '#include "core/outcome.h"' >search/good.h
  echo '#include <nvrtc.h>' >tuner/good.cpp
  check || { echo "self-test: complains about a sound tree" && exit 1; }
  local bad=('core/a.h|#include "db/database.h"' 'db/a.cpp|#  include "search/space.h"' 'tuner/a.cpp|#include "dispatch/plan.h"'
    'search/a.cpp|#include "space.h"' 'search/a.cpp|#include <cuda_runtime_api.h>' 'tuner/a.cpp|#include <cublas_v2.h>')
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
