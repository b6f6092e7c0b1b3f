#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD_DIR: clang-tidy, by the short list in .clang-tidy, over every source that BUILD_DIR compiles outside
# tests/, bench/, examples/ and python/. As its front end is clang's, this also shows that the clang of this distribution accepts the sources;
# where BUILD_DIR compiles them one by one without precompiled headers, also that each of them includes what it needs.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/package/sources.sh
sources '*.cpp' | grep -v -E '^(tests|bench|examples|python)/' |
  xargs -r -n 4 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2> >(grep -v -E 'warnings? .*(generated|treated)|Processing file' >&2)
