#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes the problems whose winners ship, in portions: bench/results/default_sizes.txt into one database for one GPU.

usage: tune_defaults.py [--seconds S] [--budget N] [--sizes FILE] [--status] PROGRAM DB
  PROGRAM: gemm-tune. DB: the database, made if missing; it should hold one GPU.

Works for --seconds (540) and stops between two problems, at the latest in one; the same command goes on, and problems whose
finals are stored are left out. The first problem of each paragraph of the list is tuned first, then the second of each, so
that a database that is not finished holds some of every kind. --status tunes nothing.

Prints a line for each problem, then how many are tuned, how many winners beat the better of cublasSgemm and cublasLt's best,
and the geometric mean of their speed over it. `gemm-tune db contribute --db DB -o winners` then writes the file that ships.
Needs a GPU. Exit codes: 0 all are tuned; 2 usage; 3 gemm-tune failed; 5 not finished yet.
"""
import argparse
import itertools
import math
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

NO_WINNER = (4, 5)  # gemm-tune's exit codes where a problem has no winner
INTERRUPTED = 130


def problems_of(text):
    """Those of all paragraphs, in turns."""
    paragraphs = [[]]
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            paragraphs[-1] += words
        elif not line.strip():
            paragraphs.append([])
    turns = itertools.zip_longest(*paragraphs)
    return list(dict.fromkeys(problem for turn in turns for problem in turn if problem))


def finished(db):
    """Problem -> speed of the winner over the better baseline, where finals of today's kernels are stored."""
    if not db.exists():
        return {}
    file = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    try:
        devices = file.execute("SELECT count(*) FROM devices").fetchone()[0]
        if devices > 1:
            sys.exit(f"tune_defaults: '{db}' holds {devices} devices: name a database of one")
        return dict(file.execute("SELECT problem, speedup FROM winners WHERE rank IS NOT NULL"))
    finally:
        file.close()


def tune(arguments, problems):
    """Whether gemm-tune has come to the end of the problems."""
    begin = time.monotonic()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as sizes:
        sizes.write("\n".join(problems) + "\n")
        sizes.flush()
        process = subprocess.Popen(
            [arguments.program, "--require-gpu", "-q", "--no-kernel-cache", "--seed", "1", "--budget", str(arguments.budget),
             "--baselines", "cublas,cublaslt", "--db", arguments.db, "--sizes", f"@{sizes.name}"],
            stdout=subprocess.PIPE, text=True)
        stopped = threading.Event()

        def stop():  # what was tried is stored
            stopped.set()
            process.send_signal(signal.SIGINT)

        last_resort = threading.Timer(arguments.seconds, stop)
        last_resort.start()
        longest, before = 0, begin
        for line in process.stdout:
            print(line, end="", flush=True)
            now = time.monotonic()
            longest, before = max(longest, now - before), now
            if now - begin + longest > arguments.seconds and not stopped.is_set():
                stop()
        code = process.wait()
        last_resort.cancel()
    if stopped.is_set() or code == INTERRUPTED:
        return False
    if code != 0 and code not in NO_WINNER:
        print(f"tune_defaults: gemm-tune failed with exit code {code}", file=sys.stderr)
        sys.exit(3)
    return True


def report(problems, speeds):
    tuned = [speeds[problem] for problem in problems if problem in speeds]
    print(f"{len(tuned)} of {len(problems)} problems are tuned")
    timed = [speed for speed in tuned if speed]
    if timed:
        mean = math.exp(sum(map(math.log, timed)) / len(timed))
        print(f"{sum(speed > 1 for speed in timed)} of {len(timed)} winners beat the better baseline; "
              f"geometric mean of their speed over it {mean:.3f}, least {min(timed):.3f}")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Tunes the problems whose winners ship.")
    parser.add_argument("--seconds", type=float, default=540, help="for this call")
    parser.add_argument("--budget", type=int, default=48, help="candidates of each problem")
    parser.add_argument("--sizes", type=pathlib.Path, default=pathlib.Path(__file__).with_name("default_sizes.txt"))
    parser.add_argument("--status", action="store_true", help="tune nothing")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("db", type=pathlib.Path)
    arguments = parser.parse_args()
    for name in ("seconds", "budget"):
        if not getattr(arguments, name) > 0:
            parser.error(f"--{name} {getattr(arguments, name)}: it must be above 0")
    for file in (arguments.program, arguments.sizes):
        if not file.is_file():
            parser.error(f"'{file}' is no file")
    arguments.program = arguments.program.resolve()
    return arguments


def main():
    arguments = parse_arguments()
    problems = problems_of(arguments.sizes.read_text())
    if not arguments.status:
        known = finished(arguments.db)
        left = [problem for problem in problems if problem not in known]
        ended = not left or tune(arguments, left)
    report(problems, finished(arguments.db))
    if not arguments.status and not ended:
        print("tune_defaults: not finished; the same command goes on", file=sys.stderr)
        sys.exit(5)


if __name__ == "__main__":
    main()
