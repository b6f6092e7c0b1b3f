#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The winners of two databases beside each other, timed by one program in turn.

usage: compare_winners.py [--rounds N] [--arch ARCH] PROGRAM BEFORE AFTER OUT [SHAPE...]
  PROGRAM: gemm-tune. BEFORE, AFTER: databases, each with a winner for every shape. OUT: an existing folder for
  winners.json. SHAPE: as in compare.py, whose list is the default.

Shapes with the same winner in both are not timed. For each other shape, --rounds times (default 3): the winner of
BEFORE is timed, then that of AFTER, each in a new process with a new database. Prints the medians over the rounds and
their ratio. Exits with 1 where a winner is missing, does not run, or AFTER's is over 1 % slower. Needs a GPU.
"""
import json
import statistics
import sys
import tempfile

from compare_builds import config_of, parsed, time_us

MOST_LOSS = 1.01


def compared(arguments, folder, shape):
    """The shape's line as a dict; its times are None where a winner is missing or does not run."""
    configs = [config_of(arguments.program, db, arguments.arch, shape) for db in (arguments.before, arguments.after)]
    row = {"shape": shape, "before": configs[0], "after": configs[1], "before_us": None, "after_us": None}
    if None in configs:
        return row | {"ratio": None}
    if configs[0] == configs[1]:
        return row | {"ratio": 1.0}
    times = [[time_us(arguments.program, folder, shape, config) for config in configs] for _ in range(arguments.rounds)]
    if any(None in pair for pair in times):
        return row | {"ratio": None}
    before, after = (statistics.median(column) for column in zip(*times))
    return row | {"before_us": before, "after_us": after, "ratio": before / after}


def main():
    arguments = parsed(__doc__.split("\n")[0], "program", "before", "after")
    rows = []
    print("| shape | before us | after us | before over after |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            row = compared(arguments, folder, shape)
            rows.append(row)
            if row["before_us"] is not None:
                times = f"{row['before_us']:.2f} | {row['after_us']:.2f} | {row['ratio']:.4f}"
            else:
                times = "| | the same config" if row["ratio"] else "| | no result"
            print(f"| {shape} | {times} |", flush=True)
    (arguments.out / "winners.json").write_text(json.dumps(rows, indent=1))
    return 0 if all(row["ratio"] and row["ratio"] * MOST_LOSS >= 1 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
