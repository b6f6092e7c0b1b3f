#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a search finds the same winner every time: alone, as a member of a job, beside a filled database, and ten times longer.

usage: same_winner.py [--gpus LIST] [--repeats N] [--shapes LIST] [--seconds S] PROGRAM OUT
  PROGRAM: gemm-tune. OUT: an existing folder for the databases and winners.json.

Each of twelve shapes in fp32 is searched --repeats times (5) alone and from nothing, once in a job of four and in one of twelve
shapes in both orders, once in a database of twenty other sizes, and once with ten times the tries. Then all winners of a shape are
timed together in one process: the table gives each over the fastest of its shape. --gpus 0,1 divides searches among GPUs, each
with an equal share of the cores. Exit code 1 where a winner is more than 1 % behind, or missing. Needs a GPU.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import sqlite3
import subprocess
import sys
import threading
import time

# As reports spell problems.
SHAPES = ["768x768x768", "1536x1536x1536", "3072x3072x3072", "8192x8192x8192", "1000x1000x1000", "1001x777x2003", "333x777x2222", "2048x768x1024:layout=nt", "2048x768x3072:layout=nt",
          "8x4096x4096", "4096x16x4096", "128x64x128:layout=nt:batch=96"]
OTHERS = "256,384,512,640,896,1024,1280,1792,2048,2560,4096,64x4096x1024,256x1024x4096,512x4096x1024,4096x512x1024,128x4096x4096,256x256x8192,1023x1025x1021,1000x2000x500,2048x768x768:layout=nt"
KNOWN = "database of 20"
LONG = "1600"  # ten times the 160 tries of a strange problem
MOST_LOSS = 1.01


class Gpus:
    """Runs gemm-tune on whichever GPU is idle."""

    def __init__(self, program, gpus):
        self.program = program
        self.idle = queue.SimpleQueue()
        cores = sorted(os.sched_getaffinity(0))
        share = len(cores) // len(gpus)
        for i, gpu in enumerate(gpus):
            self.idle.put((gpu, cores[i * share:(i + 1) * share]))

    def run(self, db, *arguments):
        """The report; None if the run failed. Kernels are compiled anew."""
        gpu, cores = self.idle.get()
        try:
            done = subprocess.run([self.program, "--require-gpu", "-q", "--json", "--no-kernel-cache", "--db", str(db), *arguments],
                                  stdout=subprocess.PIPE, env=os.environ | {"CUDA_VISIBLE_DEVICES": gpu},
                                  preexec_fn=lambda: os.sched_setaffinity(0, cores), check=False)
            return json.loads(done.stdout) if done.returncode == 0 else None
        finally:
            self.idle.put((gpu, cores))


def searches(arguments):
    """(kind, shapes, further options) of each search."""
    shapes = arguments.shapes
    jobs = [("alone", [shape], []) for _ in range(arguments.repeats) for shape in shapes]
    jobs += [(KNOWN, [shape], []) for shape in shapes]
    for size in (12, 4):
        for first in range(0, len(shapes), size):
            members = shapes[first:first + size]
            jobs += [(f"job of {size}", members, []), (f"job of {size}, reversed", members[::-1], [])]
    return jobs + [("ten times", [shape], ["--budget", LONG]) for shape in shapes]


def timed_together(gpus, out, shape, configs):
    """config -> median in us, all of one process."""
    db = out / f"together-{shape.replace(':', '_')}.db"
    db.unlink(missing_ok=True)
    chosen = [word for config in configs for word in ("--config", config)]
    gpus.run(db, "--sizes", shape, "--without-library", *chosen)
    with sqlite3.connect(db) as connection:
        rows = connection.execute("SELECT config, median_us FROM outcomes WHERE disposition = 'ok'")
        return dict(rows.fetchall())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpus", metavar="LIST", default="0", help="as in 0,1; default: 0")
    parser.add_argument("--repeats", metavar="N", type=int, default=5)
    parser.add_argument("--shapes", metavar="LIST", default=",".join(SHAPES), help="spelt MxNxK; default: the twelve")
    parser.add_argument("--seconds", metavar="S", type=float, default=float("inf"), help="searches that have not begun by then are left out")
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.shapes = arguments.shapes.split(",")
    gpus = Gpus(arguments.program, arguments.gpus.split(","))
    found = {shape: [] for shape in arguments.shapes}  # (kind, config, seconds)

    begin = time.monotonic()

    def search(number, kind, members, options):
        db = arguments.out / f"search{number}.db"
        left = db.with_suffix(".json")
        start = time.monotonic()
        if left.exists():
            report = json.loads(left.read_text())
        elif start - begin > arguments.seconds:
            print(f"{kind} {','.join(members)}: left out", file=sys.stderr, flush=True)
            return
        else:
            db.unlink(missing_ok=True)
            if kind == KNOWN:
                db.write_bytes(others_searched())
            report = gpus.run(db, "--without-library", "--sizes", ",".join(members), *options)
            print(f"{kind} {','.join(members)}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
            if report:
                left.write_text(json.dumps(report))
        problems = report["problems"] if report else []
        of = {problem["problem"]: problem for problem in problems if problem.get("winner")}
        for shape in members:
            config = of[shape]["winner"]["config"] if shape in of else None
            found[shape].append((kind, config, of[shape]["seconds"] if config else None))

    once = threading.Lock()

    def others_searched():
        """A database of the twenty other sizes, searched once."""
        filled = arguments.out / "others.db"
        with once:
            if not filled.exists():
                searched = filled.with_suffix(".part")
                searched.unlink(missing_ok=True)
                gpus.run(searched, "--without-library", "--sizes", OTHERS)
                searched.rename(filled)
        return filled.read_bytes()

    with concurrent.futures.ThreadPoolExecutor(len(arguments.gpus.split(","))) as pool:
        jobs = [pool.submit(search, number, *job) for number, job in enumerate(searches(arguments))]
        for job in jobs:
            job.result()
        together = list(pool.map(lambda shape: timed_together(gpus, arguments.out, shape, sorted({c for _, c, _ in found[shape] if c})),
                                 arguments.shapes))

    rows, is_same = [], True
    print("| shape | search | seconds | over the fastest |\n|---|---|---|---|")
    for shape, times in zip(arguments.shapes, together):
        for kind, config, seconds in sorted(found[shape], key=lambda row: row[0]):
            us = times.get(config)
            ratio = us / min(times.values()) if us else None
            rows.append({"shape": shape, "search": kind, "config": config, "seconds": seconds, "us": us, "ratio": ratio})
            is_same = is_same and ratio is not None and ratio <= MOST_LOSS
            print(f"| {shape} | {kind} | {seconds or float('nan'):.1f} | {f'{ratio:.4f}' if ratio else 'no winner'} |")
    (arguments.out / "winners.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
