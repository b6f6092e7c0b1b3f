#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the figures of one run of `gemm-tune bench` into the tables of docs/results.md.

usage: update_results.py PAGE BENCH DATABASE > NEW_PAGE

BENCH is what `gemm-tune bench --db DATABASE --sizes @bench/results/result_sizes.txt` printed. A row keeps its place and its name; the
rows of all problems of the page must be in BENCH. The errors are those that the winners' finals stored.
"""
import math
import pathlib
import re
import sqlite3
import sys

COLUMNS = ["M x N x K", "cublasSgemm", "cublasLt", "ours"]


def problem_of(name):
    """The problem's text of a row's name: '997 nt', '96x96x64 x 384'."""
    sizes, _, rest = name.partition(" ")
    text = sizes if "x" in sizes else "x".join([sizes] * 3)
    if rest in ("nt", "tn", "tt"):
        return f"{text}:layout={rest}"
    return f"{text}:batch={rest[2:]}" if rest else text


def read_bench(path):
    """TFLOP/s and the speeds over cublasSgemm and cublasLt, hot and cold, by problem."""
    found, problem = {}, None
    for line in path.read_text().splitlines():
        cells = line.replace("<", "").split()
        if cells and re.fullmatch(r"\d+x\d+x\d+(:\S+)?", cells[0]):  # a long name has a line of its own
            problem = cells.pop(0)
        if problem and cells and cells[0] in ("hot", "cold") and len(cells) >= 5:
            found.setdefault(problem, {})[cells[0]] = tuple(map(float, cells[2:5]))
    return found


def read_errors(path):
    """The winner's error over cublasSgemm's, by problem."""
    query = """SELECT w.problem, w.error / b.error FROM winners w JOIN measurements m ON m.id = w.measurement_id
               JOIN baselines b ON (b.device_id, b.problem_id, b.run_id) = (m.device_id, m.problem_id, m.run_id)
               WHERE b.name LIKE 'cublasSgemm%' AND b.error > 0"""
    return dict(sqlite3.connect(path).execute(query))


def ratio(value):
    return f"{value:.3f}" if round(value, 3) >= 1 else f"**{value:.3f}**"


def rows_of(page, bench, errors):
    """The page's lines, with new figures."""
    means = None
    for line in page.splitlines():
        cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            means = None
        elif [cells[0].removeprefix("drawn "), *cells[1:4]] == COLUMNS:
            means = [[], [], [], []]
        elif means is not None and cells[0][:1].isdigit():
            problem = problem_of(cells[0])
            tflops, over_cublas, over_lt = bench[problem]["hot"]
            _, cold_over_cublas, cold_over_lt = bench[problem]["cold"]
            speeds = [over_cublas, min(over_cublas, over_lt), cold_over_cublas, min(cold_over_cublas, cold_over_lt)]
            for mean, speed in zip(means, speeds):
                mean.append(math.log(speed))
            error = f"{errors[problem]:.2f}" if problem in errors else "-"
            figures = [f"{value:.3g}" for value in (tflops / over_cublas, tflops / over_lt, tflops)]
            line = "| " + " | ".join([cells[0], *figures, *map(ratio, speeds), error]) + " |"
        elif means is not None and cells[0] == "geometric mean":
            line = "| geometric mean | | | | " + " | ".join(f"{math.exp(sum(m) / len(m)):.3f}" for m in means) + " | |"
        yield line


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    page, bench, database = map(pathlib.Path, sys.argv[1:])
    try:
        print("\n".join(rows_of(page.read_text(), read_bench(bench), read_errors(database))))
    except KeyError as missing:
        sys.exit(f"{bench} lacks {missing}, which {page} has: bench the problems of result_sizes.txt")
