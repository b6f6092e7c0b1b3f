#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# licence.sh: fails, and names them, if sources lack the SPDX line of the project's licence in their first two lines, or if
# CMake finds a component for what is installed that has no row in THIRD_PARTY.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/package/sources.sh
line='SPDX-License-Identifier: Apache-2.0'
lacking=$({
  sources '*.h' '*.hpp' '*.c' '*.cpp' '*.cuh' '*.cmake' CMakeLists.txt '*.py' '*.sh' '*.html' '*.css' '*.js'
  printf '%s\n' CMakeLists.txt cmake/*.cmake db/schema/*.sql run .ci/run
} | while read -r file; do
  head -n 2 "$file" | grep -q -F "$line" || echo "$file"
done)
if [ -n "$lacking" ]; then
  printf '%s\n' "these files lack the line '$line':" "$lacking"
  exit 1
fi

# Opened by the loader on the user's machine.
not_contained='Python|Threads|MPI|GT_MPICH_\w+'
found=$(sources CMakeLists.txt '*.cmake' | grep -v -E '^(tests|bench|examples)/' |
  xargs sed -n -E 's/.*\bfind_(package|library|file|path)\((\w+).*/\2/p' | sort -u | grep -v -x -E "$not_contained")
lacking=$(for name in $found; do grep -q "^| .*(\`$name\`)" THIRD_PARTY.md || echo "$name"; done)
if [ -z "$found" ] || [ -n "$lacking" ]; then
  printf '%s\n' "THIRD_PARTY.md has no row for what CMake finds as:" "$lacking"
  exit 1
fi
