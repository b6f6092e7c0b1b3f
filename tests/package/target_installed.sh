#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# target_installed.sh BUILD_DIR: what the scripts of cmake --install take from BUILD_DIR, and what is built at all, is built by
# the target `installed`: cmake --install and cpack work without the tests.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$build"
commands=$(ninja -t commands installed)
built=$(ninja -t targets all | sed 's/: [^ ]*$//')
wanted=$(grep -rhoE --include=cmake_install.cmake "\"$build/[^\"]+\"" . | tr -d '"' | sort -u)
count=0
while read -r file; do
  name=${file#"$build"/}
  grep -q -x -F -e "$name" -e "$file" <<<"$built" || continue
  case $name in
    */gemm-tune-mpi) continue ;;                         # of a component that is left out by default
    */libgemm_tune.so | */libgemm_tune.so.0) continue ;; # links, which the library's rule makes
  esac
  count=$((count + 1))
  grep -q -F -e "$name" <<<"$commands" || { echo "installed does not build $name" && exit 1; }
done <<<"$wanted"
[ "$count" -ge 8 ] || { echo "only $count files that are built are installed: this test reads other files" && exit 1; }
