#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many tries and seconds searches that end themselves take, and what ten times as many tries would find.

usage: bench/search/seconds_a_size.py BIN OUT [STAGE...]
  BIN: the folder of the built gemm-tune; OUT: an existing folder for databases.
  STAGE: nothing (1024 and 4096 from an empty database), new (each of three sizes in a database of 20 others),
    job (12 sizes at once from an empty database), types (tf32 squares, bf16 with odd rows); all unless named.

Each is run REPEATS times (3; from the environment), without the kernels of earlier runs. A row for each problem: tries
and seconds of each run, and the first run's winner over that of the same database after `--budget 600` (LONG=0: without;
a long run takes 40 to 90 s a size). Needs Python's standard library and a GPU.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

if len(sys.argv) < 3:
    sys.exit("usage: seconds_a_size.py BIN OUT [STAGE...]")
BIN, OUT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
REPEATS = int(os.environ.get("REPEATS", "3"))
LONG = os.environ.get("LONG", "600")
KNOWN = ("256,384,512,640,768,1024,1536,2048,3072,4096,64x4096x1024,128x4096x4096,4096x128x4096,1024x4096x512,"
         "4096x512x1024,2048x512x2048,512x2048x512,256x256x8192,1000x1000x1000,1536x768x3072")
TWELVE = "512,768,1024,1280,1536,2048,3072,4096,1024x4096x512,4096x512x1024,128x4096x4096,1001x777x2003"


def tune(db, *arguments):
    """Runs to the end; the report as JSON, and its wall time in seconds."""
    command = [os.path.join(BIN, "gemm-tune"), "--require-gpu", "-q", "--json", "--no-kernel-cache", "--db", db]
    start = time.monotonic()
    done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), time.monotonic() - start


def fresh(name, known=None):
    path = os.path.join(OUT, name + ".db")
    if os.path.exists(path):
        os.remove(path)
    if known:
        shutil.copy(known, path)
    return path


def study(name, known, *arguments):
    """One call of the program, repeated; a row for each of its problems."""
    runs, walls, databases = [], [], []
    for turn in range(REPEATS):
        databases.append(fresh(f"{name}{turn}", known))
        report, wall = tune(databases[-1], *arguments)
        runs.append(report["problems"])
        walls.append(wall)
    print(f"{name}: {' '.join(arguments)}: {statistics.median(walls):.1f} s in the median of "
          f"{[round(wall, 1) for wall in walls]}", flush=True)
    long = None
    if LONG != "0":
        long = tune(fresh(f"{name}-long", databases[0]), *arguments, "--budget", LONG)[0]["problems"]
    for i, first in enumerate(runs[0]):
        of_all = [run[i] for run in runs]
        line = (f"  {first['problem']}: {[p['funnel']['tried'] for p in of_all]} tries, "
                f"{[round(p['seconds'], 1) for p in of_all]} s, "
                f"winners {[round(p['winner']['time_us'], 2) for p in of_all]} us")
        if long:
            line += f"; over {LONG} tries {first['winner']['time_us'] / long[i]['winner']['time_us']:.4f}"
        print(line, flush=True)


def stage_nothing():
    study("nothing", None, "--sizes", "1024,4096")


def stage_new():
    known = fresh("known")
    print(f"20 sizes: {tune(known, '--sizes', KNOWN)[1]:.1f} s", flush=True)
    for size in ("1280", "1792", "2048x1024x4096"):
        study("new-" + size, known, "--sizes", size)


def stage_job():
    study("job", None, "--sizes", TWELVE)


def stage_types():
    study("tf32", None, "--accuracy", "tf32", "--sizes", "1024,4096,8192")
    study("odd", None, "--type", "bf16", "--sizes", "64x50257x768:layout=nt,8x50257x768:layout=nt,2048x50257x768:layout=nt")


if __name__ == "__main__":
    for stage in sys.argv[3:] or ["nothing", "new", "job", "types"]:
        globals()[f"stage_{stage}"]()
