#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD_DIR: clang-tidy, by the short list in .clang-tidy, over every source that BUILD_DIR compiles outside
# tests/ and bench/. As its front end is clang's, this also shows that the clang of this distribution accepts the sources;
# as it goes without BUILD_DIR's precompiled headers, also that each of them includes what it needs.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/package/sources.sh
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
sed -E 's/ -Winvalid-pch -include (\\"[^"]*cmake_pch\.hxx\\"|[^ ]*cmake_pch\.hxx)//' "$build/compile_commands.json" \
  >"$database/compile_commands.json"
sources '*.cpp' | grep -v -E '^(tests|bench)/' |
  xargs -r -n 4 -P "$(nproc)" clang-tidy -p "$database" --quiet --warnings-as-errors='*' 2> >(grep -v -E 'warnings? .*(generated|treated)|Processing file' >&2)
