#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a database's rows of one problem and family as a Kernel Tuner cache file, for `gemm-tune-research replay`.

usage: recorded_sweep.py DB PROBLEM FAMILY OUT.json.gz [CONFIGS]
  PROBLEM: as in the database, "1024x1024x1024". CONFIGS: a file with one config text per line; only these are written.

Times are hot medians in milliseconds. A config that was rejected after compiling is an InvalidConfig; a config that
failed on the GPU is a RuntimeFailedConfig. Parameters with only one value are listed once, as fixed_params. If a config
has several rows, the newest counts. Exit code 1 if nothing is found.
"""
import argparse
import gzip
import json
import pathlib
import sqlite3
import sys

ROWS = """
SELECT c.config, m.disposition, m.median_us, d.name, m.recorded_at
FROM measurements m JOIN candidates c ON c.id = m.candidate_id JOIN devices d ON d.id = m.device_id
JOIN problems p ON p.id = m.problem_id
WHERE p.text = ? AND c.config LIKE ? || '/%' ORDER BY m.recorded_at, m.id
"""


def params_of(config):
    return {name: int(value) for name, value in (item.split("=") for item in config.split("/")[1].split(","))}


def entry(params, disposition, median_us):
    if disposition == "ok":
        return {**params, "time": round(median_us / 1000, 7)}
    return {**params, "time": "InvalidConfig" if disposition == "rejected" else "RuntimeFailedConfig"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("db", "problem", "family", "out"):
        parser.add_argument(name)
    parser.add_argument("configs", nargs="?")
    args = parser.parse_args()
    wanted = set(pathlib.Path(args.configs).read_text().split()) if args.configs else None
    with sqlite3.connect(f"file:{args.db}?mode=ro", uri=True) as db:
        rows = [row for row in db.execute(ROWS, (args.problem, args.family)) if wanted is None or row[0] in wanted]
    if not rows:
        sys.exit(f"recorded_sweep.py: {args.db} holds nothing of {args.family} at {args.problem}.")
    newest = {row[0]: row for row in rows}
    points = {config: params_of(config) for config in sorted(newest)}
    values = {}
    for params in points.values():
        for name, value in params.items():
            values.setdefault(name, set()).add(value)
    tuned = {name: sorted(found) for name, found in values.items() if len(found) > 1}
    fixed = {name: min(found) for name, found in values.items() if len(found) == 1}
    cache = {}
    for config, params in points.items():
        kept = {name: params[name] for name in tuned}
        cache[",".join(map(str, kept.values()))] = entry(kept, newest[config][1], newest[config][2])
    text = json.dumps({"device_name": rows[0][3], "kernel_name": args.family, "problem_size": args.problem,
                       "recorded_at": max(row[4] for row in rows), "tune_params_keys": list(tuned),
                       "tune_params": tuned, "fixed_params": fixed, "objective": "time", "cache": cache}, separators=(",", ":"))
    with gzip.GzipFile(args.out, "wb", 9, mtime=0) as out:
        out.write(text.encode())
    print(f"{args.problem}: {len(cache)} configs, {sum(isinstance(e['time'], str) for e in cache.values())} failed")


if __name__ == "__main__":
    main()
