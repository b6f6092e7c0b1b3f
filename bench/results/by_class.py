#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How winners compare with the better library, by what bounds a problem.

usage: by_class.py REPORT...
  REPORT: what `gemm-tune --json --baselines cublas,cublaslt --sizes ...` printed.

A row for each class: problems, the geometric mean of the speed of what serves over the better of cuBLAS and cublasLt, the least
one, the same of the fastest kernel of ours, and the share of problems whose kernel is behind. Classes are those of an H100: a
library's time below 2 us; operands whose bytes take longer than their multiplications (3.35 TB/s, 989 TFLOP/s); by the number of
128x128 tiles below one wave of 132 SMs, 1 to 4 waves, and more. Needs Python's standard library.
"""
import json
import math
import pathlib
import re
import sys

SMS, TILE, BYTES_PER_S, FLOP_PER_S, ELEMENT_BYTES = 132, 128, 3.35e12, 989e12, 2
CLASSES = ("under 2 us", "memory-bound", "under a wave", "1 to 4 waves", "more waves")


def class_of(problem, library_us):
    m, n, k = (int(x) for x in problem.split(":")[0].split("x"))
    batch = int((re.search(r":batch=(\d+)", problem) or [0, 1])[1])
    if library_us < 2:
        return CLASSES[0]
    if ELEMENT_BYTES * (m * k + k * n + m * n) / BYTES_PER_S > 2 * m * n * k / FLOP_PER_S:
        return CLASSES[1]
    waves = batch * math.ceil(m / TILE) * math.ceil(n / TILE) / SMS
    return CLASSES[2] if waves < 1 else CLASSES[3] if waves <= 4 else CLASSES[4]


def speeds_of(report):
    """(class, speed of what serves, speed of the fastest kernel or None) of each problem."""
    for problem in json.loads(report.read_text())["problems"]:
        winner, kernel = problem.get("winner"), problem.get("kernel")
        if not winner or not winner["baselines"]:
            continue
        library_us = min(baseline["time_us"] for baseline in winner["baselines"])
        ours = kernel if winner["config"].startswith("cublas") else winner
        yield (class_of(problem["problem"], library_us), library_us / winner["time_us"],
               library_us / ours["time_us"] if ours else None)


def mean(speeds):
    return math.exp(sum(map(math.log, speeds)) / len(speeds))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = [row for name in sys.argv[1:] for row in speeds_of(pathlib.Path(name))]
    print("| class | problems | served: mean, least | kernels: mean, least | behind |\n|---|---|---|---|---|")
    for name in (*CLASSES, "all"):
        served = [row[1] for row in rows if name in (row[0], "all")]
        kernels = [row[2] for row in rows if name in (row[0], "all") and row[2]]
        if kernels:
            print(f"| {name} | {len(served)} | {mean(served):.3f}, {min(served):.3f} | {mean(kernels):.3f}, {min(kernels):.3f} | "
                  f"{sum(speed < 1 for speed in kernels)} |")


if __name__ == "__main__":
    main()
