#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# licence.sh: fails, and names them, if sources lack the SPDX line of the project's licence in their first two lines.
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
