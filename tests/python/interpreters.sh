#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# interpreters.sh BUILD LIBRARIES_OF_CUDA: makes the wheels of BUILD for the CPythons from 3.10 to 3.14 that are found here (on
# PATH, or pyenv's), installs each in a fresh environment of every CPython that it is for, and walks through it (walk.sh).
# Takes minutes. Skipped (77) where none is found or no package index is reached.
set -euo pipefail
build=$(cd "$1" && pwd) libraries_of_cuda=$2
cd "$(dirname "${BASH_SOURCE[0]}")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

pythons=() abi3=''
for minor in 10 11 12 13 14; do
  for python in "$(command -v "python3.$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor."*/bin/python3 python3; do
    "$python" -c "import sys, sysconfig, os, venv, ensurepip
sys.exit(sys.version_info[:2] != (3, $minor) or not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))" \
      2>/dev/null || continue
    pythons+=("$python")
    break
  done
done
[ ${#pythons[@]} -gt 0 ] || { echo "skipped: no CPython from 3.10 to 3.14 with venv and Python.h is here" && exit 77; }
python3 -m pip download --quiet --no-deps --dest "$scratch" nanobind || { echo "skipped: no package index is reached" && exit 77; }

for python in "${pythons[@]}"; do
  minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
  if [ "$minor" -lt 12 ] || [ -z "$abi3" ]; then # one made with 3.12 or later is for all later ones
    rm -rf "$scratch/wheels"
    ../../python/wheel.sh "$build" "$build/python" "$scratch/wheels" "$python" >"$scratch/log" 2>&1 ||
      { cat "$scratch/log" && exit 1; }
    if [ "$minor" -ge 12 ]; then abi3=made; fi
  fi
  "$python" -m venv "$scratch/venv-$minor"
  "$scratch/venv-$minor/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$scratch"/wheels/*.whl
  LD_LIBRARY_PATH=$libraries_of_cuda ./walk.sh "$scratch/venv-$minor"
  echo "CPython 3.$minor: $(basename "$scratch"/wheels/*.whl)"
done
