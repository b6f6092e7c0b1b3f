#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of what bench/kernels/wgmma_arms.cpp printed.

usage: wgmma_summary.py ROWS

A line for each problem: the better library's time, and over it the best kernel without REDUCE, the same where launches overlap,
the best with REDUCE, the same where launches overlap, and the best without overlap of what needs no other kernel. Then
geometric means: of the kernels without REDUCE, of the better of both, and of that with overlap; and what was wrong.
"""
import json
import math
import pathlib
import sys


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def line_of(row):
    finals = row["finals"]
    libraries = [arm for arm in finals if not arm["config"]]
    ours = [arm for arm in finals if arm["config"]]

    def best(reducing, names):
        chosen = [arm for arm in ours if ("REDUCE=1" in arm["config"]) == reducing and arm["name"] in names]
        return max(chosen, key=lambda arm: arm["ratio"], default=None)

    return {"problem": row["problem"], "library": min(arm["us"] for arm in libraries),
            "plain": best(False, ["plain"]), "overlap": best(False, ["overlap"]), "reduce": best(True, ["plain"]),
            "reduce overlap": best(True, ["overlap"]),
            "tweak": max((arm for arm in ours if arm["name"] not in ("plain", "overlap")), key=lambda arm: arm["ratio"], default=None)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line.startswith("{")]
    lines = [line_of(row) for row in rows]
    ratio = lambda arm: f"{arm['ratio']:.3f}" if arm else "-"  # noqa: E731
    print("problem | library us | plain | overlap | reduce | reduce overlap | best other | config")
    for line in lines:
        arms = [line[key] for key in ("plain", "overlap", "reduce", "reduce overlap")]
        tweak = line["tweak"]
        best = max((arm for arm in (line["plain"], line["reduce"]) if arm), key=lambda arm: arm["ratio"])
        print(" | ".join([line["problem"], f"{line['library']:.3f}", *map(ratio, arms),
                          f"{ratio(tweak)} {tweak['name'] if tweak else ''}", best["config"]]))
    either = [(line["plain"], line["reduce"]) for line in lines if line["plain"]]
    overlapped = [(line["overlap"], line["reduce overlap"]) for line in lines if line["overlap"]]
    over = lambda pairs: [max(arm["ratio"] for arm in pair if arm) for pair in pairs]  # noqa: E731
    print(f"geometric means: without REDUCE {mean([plain['ratio'] for plain, _ in either]):.3f}, either {mean(over(either)):.3f}, "
          f"overlapping {mean(over(overlapped)):.3f}")
    for row in rows:
        for what in row["wrong"]:
            print(f"WRONG {row['problem']}: {what}")


if __name__ == "__main__":
    main()
