#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the structs that describe a product, and the lines that assume fp32.

usage: type_assumptions.py [--list] [ROOT]

1. Structs that describe a product: those with members M, N and K, in C++ text and in C++ text inside strings.
2. Lines of host code outside the types' own files that assume fp32: `float`, `* 4` or `4 *`, `sizeof(float)`, and
   alignments as a number of elements (1, 2 or 4). Comments, strings and kernels (.cuh) do not count, and neither does
   arithmetic of another kind: search/'s model of the search space and db/'s texts of times are listed in NOT_TYPES.
--list prints each place beside the totals.
"""

import argparse
import pathlib
import re

FOLDERS = ["core", "gpu", "db", "search", "dispatch", "tuner", "kernel_templates", "bench"]
# The files that say what a type is; nobody else should have to know.
OWN_FILES = {"core/signature.h", "core/signature.cpp"}
# Numbers that are no matrix element: the surrogate's arithmetic, NVML's and CUDA events' floats, a card's cache sizes.
NOT_TYPES = {"search/surrogate.cpp", "search/surrogate.h", "search/model_strategy.cpp", "gpu/stream.cpp",
             "core/device_spec.cpp", "core/shell_quote.cpp", "core/printable.cpp", "tuner/app/sweep.cpp",
             "tuner/app/sweep_entries.cpp", "tuner/app/sweep_json.cpp"}

PATTERNS = {
    "float": re.compile(r"\bfloat\b"),
    "* 4": re.compile(r"(?<![\w.])4 \* |\* 4(?![\w.])"),
    "sizeof(float)": re.compile(r"sizeof ?\(float\)"),
    "1/2/4 elements": re.compile(
        r"alignment\w*\)? (==|!=|<|>|<=|>=) [124]\b|[{(](4, 2, 1|1, 2, 4)[})]|% 4\b|alignment\w*\)?, 4\)"),
}


def without_comments_and_strings(text):
    """The text with comments and string contents blanked; lines stay where they are."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])+'", re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def members(body):
    """The names that a struct's body declares outside of its functions."""
    flat = re.sub(r"//[^\n]*|/\*.*?\*/", " ", body, flags=re.S)
    while re.search(r"\{[^{}]*\}", flat):
        flat = re.sub(r"\{[^{}]*\}", " ", flat)
    names = set()
    for statement in flat.split(";"):
        if "(" in statement:
            continue
        for declarator in statement.split(","):
            name = re.search(r"(\w+)\s*(=[^=]*)?$", declarator.strip())
            if name:
                names.add(name.group(1))
    return names


def struct_bodies(text):
    """(name, line, body) of each struct."""
    for head in re.finditer(r"\bstruct\s+(\w+)[^;{}()]*\{", text):
        depth, at = 1, head.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield head.group(1), text.count("\n", 0, head.start()) + 1, text[head.end():at - 1]


def product_structs(root):
    found = []
    for folder in FOLDERS + ["tests/emulator"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cuh", ".hpp"):
                continue
            for name, line, body in struct_bodies(path.read_text()):
                if {"M", "N", "K"} <= members(body):
                    found.append((f"{path.relative_to(root)}:{line}", name))
    return found


def assumptions(root):
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix not in (".h", ".cpp", ".hpp") or name in OWN_FILES | NOT_TYPES:
                continue
            lines = without_comments_and_strings(path.read_text()).split("\n")
            for number, line in enumerate(lines, 1):
                kinds = [kind for kind, pattern in PATTERNS.items() if pattern.search(line)]
                if kinds:
                    found.append((f"{name}:{number}", kinds, line.strip()))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    structs, places = product_structs(options.root), assumptions(options.root)
    print(f"{len(structs)} structs describe a product: " + ", ".join(name for _, name in structs))
    if options.list:
        for where, name in structs:
            print(f"  {where} {name}")
    per_kind = {kind: sum(kind in kinds for _, kinds, _ in places) for kind in PATTERNS}
    per_folder = {folder: sum(where.startswith(folder + "/") for where, _, _ in places) for folder in FOLDERS}
    print(f"{len(places)} lines assume fp32: " + ", ".join(f"{kind} {n}" for kind, n in per_kind.items()))
    print("  by folder: " + ", ".join(f"{folder} {n}" for folder, n in per_folder.items()))
    if options.list:
        for where, kinds, line in places:
            print(f"  {where} [{', '.join(kinds)}] {line}")


if __name__ == "__main__":
    main()
