#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether runs on a GPU repeat and what disturbs them: throughput, busy compilers, the baseline by another program.

usage: bench/search/repeatability.py BIN OUT [STAGE...]
  BIN: the folder of the built programs (gemm-tune, compile_throughput, independent_sgemm);
  OUT: an existing folder for databases and figures.
  STAGE: throughput jobs independent repeat devices; the first four unless named.

Needs Python's standard library and a GPU; `devices` needs two. Figures go to stdout.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time

BIN, OUT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROGRAM = os.path.join(BIN, "gemm-tune")
REPEATS = int(os.environ.get("REPEATS", "10"))


def say(text):
    print(text, flush=True)


def path(name):
    return os.path.join(OUT, name)


def tune(db, *arguments):
    """Runs to the end; the report as JSON."""
    done = subprocess.run([PROGRAM, "--require-gpu", "-q", "--json", "--no-kernel-cache", "--db", db, *arguments],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def rows(db, query):
    with sqlite3.connect(db) as connection:
        return connection.execute(query).fetchall()


def stage_throughput():
    say(subprocess.run([os.path.join(BIN, "compile_throughput")], stdout=subprocess.PIPE, text=True,
                       check=True).stdout)


def stage_jobs():
    """One config's time with 0 and with 15 busy compile workers, in turn."""
    config = "vectorized_2d/BM=64,BN=128,BK=16,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0"
    medians = {"idle": [], "busy": []}
    for turn in range(6):
        kind = "idle" if turn % 2 == 0 else "busy"
        noise = None
        if kind == "busy":
            noise = subprocess.Popen([PROGRAM, "--arch", "sm_86", "--sizes", "2048", "--jobs", "15",
                                      "-q", "--budget", "all", "--db", path(f"noise{turn}.db")],
                                     stdout=subprocess.DEVNULL)
            time.sleep(2)
        report = tune(path(f"jobs{turn}.db"), "--sizes", "1024", "--config", config, "--jobs", "1")
        medians[kind].append(report["problems"][0]["winner"]["time_us"])
        if noise:
            noise.terminate()
            noise.wait()
    say(f"one config at 1024, us: {medians}")
    say(f"busy over idle: {statistics.median(medians['busy']) / statistics.median(medians['idle']):.4f}")


def stage_repeat():
    """Full runs, each from an empty database."""
    runs = []
    for turn in range(REPEATS):
        start = time.monotonic()
        runs.append(tune(path(f"repeat{turn}.db"), "--sizes", "512,1024,4096"))
        say(f"run {turn}: {time.monotonic() - start:.1f} s")
    for i, problem in enumerate(p["problem"] for p in runs[0]["problems"]):
        found = [run["problems"][i] for run in runs]
        times = [p["winner"]["time_us"] for p in found]
        shares = [p["winner"]["baselines"][0]["time_us"] / p["winner"]["time_us"] for p in found]
        sets = [{p["winner"]["config"], *p["winner"]["tied"]} for p in found]
        inside = [sum(p["winner"]["config"] in one for one in sets) for p in found]
        middle = statistics.median(times)
        say(f"{problem}: winner us median {middle:.4g}, spread {100 * (min(times) / middle - 1):+.2f} % to "
            f"{100 * (max(times) / middle - 1):+.2f} %; share of cuBLAS {min(shares):.3f} to {max(shares):.3f}; "
            f"each winner lies in {inside} of {len(runs)} tie sets of {[len(one) for one in sets]}; busy GPU "
            f"{[round(p['busy']['gpu'], 2) for p in found]}, compile "
            f"{[round(p['busy']['compile'], 2) for p in found]}")


def stage_independent():
    """cublasSgemm, hot and cold, as stored by a run and by a program with none of our code."""
    sizes = ["512", "1024", "4096"]
    out = subprocess.run([os.path.join(BIN, "independent_sgemm"), *sizes], stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    say(out)
    db = path("independent.db")
    tune(db, "--sizes", ",".join(sizes), "--budget", "32")
    for line in out.splitlines():
        fields = line.split()
        if len(fields) != 5 or not fields[0].isdigit():
            continue
        hot, cold = float(fields[3]), float(fields[4])
        [(ours_hot, ours_cold)] = rows(db, "SELECT median_us, cold_us FROM baselines JOIN problems p ON "
                                           f"p.id = problem_id WHERE p.M = {fields[0]}")
        say(f"cublasSgemm {fields[0]}: hot {ours_hot:.5g} against {hot:.5g} us, {ours_hot / hot:.4f}; cold "
            f"{ours_cold:.5g} against {cold:.5g} us, {ours_cold / cold:.4f}")


def stage_devices():
    """The same search on one GPU and on all of them."""
    for name, devices in (("one", "0"), ("all", "all")):
        start = time.monotonic()
        report = tune(path(f"devices-{name}.db"), "--sizes", "4096", "--budget", "600", "--devices", devices,
                      "--seed", "1")
        problem = report["problems"][0]
        say(f"--devices {devices}: {time.monotonic() - start:.1f} s, search and finals {problem['seconds']:.1f} s, "
            f"busy {problem['busy']}, winner {problem['winner']['config']} {problem['winner']['time_us']:.5g} us")


STAGES = ["throughput", "jobs", "independent", "repeat"]

if __name__ == "__main__":
    for stage in sys.argv[3:] or STAGES:
        say(f"== {stage}")
        started = time.monotonic()
        globals()[f"stage_{stage}"]()
        say(f"-- {stage} took {time.monotonic() - started:.0f} s")
