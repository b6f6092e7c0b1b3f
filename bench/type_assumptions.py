#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of host code that assume a matrix's element type, and the structs that describe a product.

usage: type_assumptions.py [--list] [ROOT]

A line assumes a type if it names an enumerator of one (ElementType::f16, kTypeBf16, GT_F32), asks for a width in bytes or
bits (bytes_of(t) == 2, sizeof(float), alignments of 1, 2, 4 or 8 elements), or has a matrix of float. Comments, strings,
kernels (.cuh), tests and benches do not count, nor do the tables' own files and static_asserts, which compare them. Numbers
that are no element are left out: alpha and beta, partial sums and counters, which are fp32 and int whatever the matrices;
milliseconds; and the files of OTHERS. A struct describes a product if it has the members M, N and K.
"""

import argparse
import pathlib
import re

FOLDERS = ["core", "gpu", "kernel_templates", "search", "db", "choose", "runtime", "dispatch", "tuner", "cli", "python"]
TABLES = {"core/types/element_type.h", "core/types/accuracy.h", "core/types/accuracy.cpp", "core/types/accuracy_class.h", "core/types/signature.h", "core/types/signature.cpp",
          "core/types/float16.h", "core/types/float8.h", "dispatch/include/gemm_tune/gemm_tune.h"}
# Prototypes of NVIDIA's functions; the surrogate's arithmetic; the interpreter of PTX; the memory of partial sums.
OTHERS = {"core/problem/cublas_functions.h", "dispatch/preload/driver.h", "search/strategy/surrogate.cpp",
          "search/strategy/surrogate.h", "tuner/trace/ptx.cpp", "tuner/trace/trace.cpp",
          "runtime/workspace.cpp", "runtime/workspace.h", "runtime/workspace_pool.h"}
ASSUMES = re.compile(
    r"\bElementType::(f32|f16|bf16|e4m3|e5m2|s8|s32|f64)\b|\bkType(F32|F16|Bf16)\b|\bGT_(F32|F16|BF16|E4M3|E5M2|S8|S32)\b"
    r"|\bkReal(F32|F16|Bf16)\b|bytes_of\([^)]*\) ?[=!<>]=? ?\d|\.bits [=!<>]=? \d|sizeof ?\(float\)|element_bytes [=!]= "
    r"|alignment\w*\)? (==|!=|<|>|<=|>=) [1248]\b|% [48] == 0|\bfloat\b")
NO_ELEMENT = re.compile(r"alpha|beta|scales|\bsums\b|partials|counters|\bms\b|milliseconds|waves|static_assert")
LITERALS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])+'", re.S)


def code_of(text):
    """The text with comments, strings and static_asserts blanked; lines stay where they are."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"static_assert\(.*?\);", blank, LITERALS.sub(blank, text), flags=re.S)


def sources(root, suffixes):
    for folder in FOLDERS:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.suffix in suffixes)


def product_structs(root):
    for path in sources(root, (".h", ".cpp", ".cuh", ".hpp")):
        code = code_of(path.read_text())
        for head in re.finditer(r"\bstruct (\w+)[^;{}()]*\{([^{}]*)", code):
            if re.search(r"\bM\b[^;]*\bN\b[^;]*\bK\b[^;(]*;", head.group(2)):
                yield f"{path.relative_to(root)}:{code.count(chr(10), 0, head.start()) + 1} {head.group(1)}"


def assumptions(root):
    for path in sources(root, (".h", ".cpp", ".hpp")):
        name = str(path.relative_to(root))
        if name in TABLES | OTHERS:
            continue
        for number, line in enumerate(code_of(path.read_text()).split("\n"), 1):
            if ASSUMES.search(line) and not NO_ELEMENT.search(line):
                yield f"{name}:{number} {line.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="each place beside the totals")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    for what, found in (("lines assume a type", list(assumptions(options.root))),
                        ("structs describe a product", list(product_structs(options.root)))):
        print(f"{len(found)} {what}")
        if options.list:
            print("".join(f"  {place}\n" for place in found), end="")


if __name__ == "__main__":
    main()
