#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format.sh: fails, and says where, if a source is not as clang-format would write it. format.sh -i rewrites them.
#
# Version 14 by name (both Debian 12 and Ubuntu 24.04 have it): another version would disagree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/package/sources.sh
mode=(--dry-run --Werror)
[ "${1:-}" != -i ] || mode=(-i)
sources '*.h' '*.cpp' '*.cuh' | xargs -r -n 16 -P "$(nproc)" clang-format-14 --style=file "${mode[@]}"
