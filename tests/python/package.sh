#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package.sh BUILD PYTHON HIDE_LIBRARIES LIBRARIES_OF_CUDA PLUGIN: makes the wheel of BUILD for PYTHON, installs it without a package
# index in a fresh environment, looks for its licences there, imports it where no CUDA is, and runs the tests of this folder there.
#
# Skipped (77) where PYTHON is too old or lacks venv or its headers, or no package index is reached.
set -euo pipefail
build=$(cd "$1" && pwd) python=$2 hide_libraries=$3 libraries_of_cuda=$4 plugin=$5
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $*" && exit 77; }
"$python" -c 'import sys, sysconfig, os, venv, ensurepip
sys.exit(sys.version_info < (3, 10) or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  skip "$python is no Python from 3.10 on with venv and Python.h"
work=$build/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
own=()
if "$python" -c 'import torch' 2>/dev/null; then own=(--system-site-packages); fi # the operator's tests need PyTorch
"$python" -m venv "${own[@]}" "$scratch/venv"
pip=("$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install --no-compile pytest numpy || skip "no package index is reached"

rm -rf "$work/wheels"
wheel=$(../../python/wheel.sh "$build" "$work" "$work/wheels" "$python")
"${pip[@]}" install --no-index --no-deps "$wheel"
for licence in LICENSE THIRD_PARTY.md; do
  cmp "../../$licence" "$scratch"/venv/lib/python*/site-packages/gemm_tune-*.dist-info/licenses/$licence
done

cd "$scratch" # nothing of the tree is imported
LD_AUDIT=$hide_libraries GT_HIDDEN='libcu libnvrtc' venv/bin/python -c 'import gemm_tune' 2>errors
! grep . errors || { echo "the import asks for CUDA's libraries" && exit 1; }
LD_LIBRARY_PATH=$libraries_of_cuda "$OLDPWD/walk.sh" venv
env -u GEMM_TUNE_DB XDG_DATA_HOME="$scratch" XDG_CACHE_HOME="$scratch" GT_HIDE_LIBRARIES="$hide_libraries" \
  GT_PLUGIN="$plugin" GT_CUDA_LIBRARIES="$libraries_of_cuda" LD_LIBRARY_PATH="$libraries_of_cuda" CUDA_VISIBLE_DEVICES='' \
  venv/bin/python -m pytest -q -p no:cacheprovider "$OLDPWD"
