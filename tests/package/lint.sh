#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD_DIR: clang-tidy, by the short list in .clang-tidy, over every source that BUILD_DIR compiles outside
# tests/, bench/, examples/ and python/, in the batches in which it compiles them. As its front end is clang's, this also
# shows that the clang of this distribution accepts the sources.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 - "$build" "$PWD" <<'END' |
import json, pathlib, sys
build, root = map(pathlib.Path, sys.argv[1:])
for command in json.loads((build / "compile_commands.json").read_text()):
    file = pathlib.Path(command["file"])
    place = file.relative_to(build if file.is_relative_to(build) else root).parts[0]
    if place not in ("tests", "bench", "examples", "python", "CMakeFiles"):
        print(file)
END
  xargs -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2> >(grep -v -E 'warnings? .*(generated|treated)|Processing file' >&2)
