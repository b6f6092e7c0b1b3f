#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times explicit configs, hot and cold, beside cublasSgemm and cublasLt. Needs a GPU.

usage: time_configs.py [--json FILE] PROGRAM LIST

PROGRAM is gemm-tune; LIST has lines of "SIZE CONFIG", and "#" begins a comment. Each config has a process and a database
of its own, so that neither databases nor earlier configs matter; cublasLt is timed with a size's first config only. Prints a
line for each config with its times in us, and how many times faster it is than each baseline. A config that fails says why
and costs no other; the exit code is then 1. skinny_pairs.txt is such a list.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def read_list(path):
    pairs = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            sys.exit(f"{path}:{number}: '{line}' is no \"SIZE CONFIG\": name a size and a config")
        pairs.append(words)
    if not pairs:
        sys.exit(f"{path}: no \"SIZE CONFIG\" in it: name at least one")
    return pairs


def timed(program, size, config, baselines):
    """The config's row: its times and the baselines', or why there are none."""
    row = {"size": size, "config": config}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, "--require-gpu", "-q", "--json", "--no-kernel-cache", "--seed", "1", "--jobs", "1", "--db", folder + "/one.db",
             "--baselines", baselines, "--sizes", size, "--config", config], capture_output=True, text=True)
    try:
        [problem] = json.loads(done.stdout)["problems"]
        winner = problem["winner"]
        row |= {"time_us": winner["time_us"], "cold_us": winner.get("cold_us")}
        row["baselines"] = [{key: one.get(key) for key in ("name", "time_us", "cold_us")} for one in winner["baselines"]]
    except (ValueError, KeyError, TypeError):
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        row["error"] = f"exit code {done.returncode}: {said[-1] if said else 'no message'}"
    return row


def line_of(row):
    if "error" in row:
        return f"{row['size']} {row['error']}"
    cold = row["cold_us"]
    text = f"{row['size']} hot {row['time_us']:.3f}" + (f" cold {cold:.3f}" if cold else "")
    for one in row["baselines"]:
        text += f" | {one['name'].split()[0]} hot {one['time_us'] / row['time_us']:.3f}"
        if cold and one["cold_us"]:
            text += f" cold {one['cold_us'] / cold:.3f}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="the rows, for other programs")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("list", metavar="LIST")
    arguments = parser.parse_args()
    rows, seen = [], set()
    for size, config in read_list(arguments.list):
        rows.append(timed(arguments.program, size, config, "cublas" if size in seen else "cublas,cublaslt"))
        seen.add(size)
        print(f"{line_of(rows[-1])}\n    {config}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
