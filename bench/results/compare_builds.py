#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of gemm-tune: the old and the new build time the winners of a database in turn.

usage: compare_builds.py [--rounds N] [--arch ARCH] OLD NEW DATABASE OUT [SHAPE...]
  OLD, NEW: the two programs. DATABASE: holds the winners; OLD reads a copy of it. OUT: an existing folder
  for builds.json. SHAPE: as in compare.py, whose list is the default.

For each shape, --rounds times (default 3): the old build times the winner's config, then the new build does, each in
a new process with a new database, by its own rule and checks. Prints the medians over the rounds, their ratio and the
spread: the largest over the smallest time of a build's rounds, for the build with the larger spread. Exits with 1 if a
shape has no result in one of the builds. Needs a GPU.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from compare import SHAPES, arguments_for


def output_of(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def config_of(program, db, arch, shape):
    """The text of the shape's winner in the database; None where it has none of its own."""
    [answer] = output_of([program, "best", "--json", "--db", db, "--arch", arch, *arguments_for(shape)])
    return answer["config"] if answer["match"] == "exact" else None


def time_us(program, folder, shape, config):
    """The median of one launch, in microseconds, in a process and a database of its own; None where it has none."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        report = output_of([program, "--require-gpu", "-q", "--json", "--db", f"{name}/one.db", "--baselines", "cublas",
                            "--config", config, *arguments_for(shape)])
    winner = report["problems"][0]["winner"]
    return winner["time_us"] if winner else None


def compared(arguments, folder, db, shape):
    """The shape's line as a dict, or None."""
    config = config_of(arguments.old, db, arguments.arch, shape)
    times = {"old": [], "new": []}
    for _ in range(arguments.rounds if config else 0):
        for name, program in (("old", arguments.old), ("new", arguments.new)):
            times[name].append(time_us(program, folder, shape, config))
    if not config or None in times["old"] + times["new"]:
        return None
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {"shape": shape, "config": config, "times_us": times, "ratio": medians["old"] / medians["new"], **medians,
            "spread": max(max(values) / min(values) for values in times.values())}


def parsed(description, *names):
    """The command line of a comparison: its options, the arguments of these names, OUT and the shapes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arch", default="sm_90")
    for name in names:
        parser.add_argument(name)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    return parser.parse_args()


def main():
    arguments = parsed(__doc__.split("\n")[0], "old", "new", "database")
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        db = shutil.copy(arguments.database, folder)
        print("| shape | old us | new us | old over new | spread |\n|---|---|---|---|---|")
        for shape in arguments.shapes:
            row = compared(arguments, folder, db, shape)
            if row is None:
                failed.append(shape)
                continue
            rows.append(row)
            print(f"| {shape} | {row['old']:.2f} | {row['new']:.2f} | {row['ratio']:.4f} | {row['spread']:.4f} |",
                  flush=True)
    (arguments.out / "builds.json").write_text(json.dumps(rows, indent=1))
    if failed:
        print("without a result: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
