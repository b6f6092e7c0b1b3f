# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: sources PATTERN... lists this project's own files of these patterns, from the repository root.
sources() {
  local names=() folders=() pattern folder
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  for folder in core gpu kernel_templates search db choose runtime dispatch tuner cli python cmake tests bench examples; do
    [ ! -d "$folder" ] || folders+=("$folder")
  done
  find "${folders[@]}" -type f ! -path 'tests/released/*/*' \( "${names[@]:1}" \) | sort
}
