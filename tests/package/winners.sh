#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# winners.sh PROGRAM: the files in winners/ are as `db contribute` writes them, and nothing else is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
shopt -s nullglob
strangers=$(find winners -type f ! -name '*.json' ! -path winners/README.md ! -path winners/CMakeLists.txt)
[ -z "$strangers" ] || { echo "in winners/: $strangers" && exit 1; }
files=(winners/*.json)
[ ${#files[@]} -eq 0 ] || "$1" db contribute --check "${files[@]}"
