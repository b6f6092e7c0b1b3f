#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many tries and seconds searches that end themselves take, and what ten times as many tries would find.

usage: seconds_a_size.py [--repeats 3] [--long 600] BIN OUT [STAGE...]

Each stage is run --repeats times, without the kernels of earlier runs: nothing (1024 and 4096 from an empty database), new
(each of three sizes in a database of 20 others), job (12 sizes at once from an empty database), types (tf32 squares, bf16
with odd rows). A row for each problem: tries and seconds of each run, and the first run's winner over that of the same
database after `--budget` of --long, which takes 40 to 90 s a size. Needs Python's standard library and a GPU.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import time

KNOWN = ("256,384,512,640,768,1024,1536,2048,3072,4096,64x4096x1024,128x4096x4096,4096x128x4096,1024x4096x512,"
         "4096x512x1024,2048x512x2048,512x2048x512,256x256x8192,1000x1000x1000,1536x768x3072")
TWELVE = "512,768,1024,1280,1536,2048,3072,4096,1024x4096x512,4096x512x1024,128x4096x4096,1001x777x2003"


class Study:
    def __init__(self, options):
        self.options = options

    def tune(self, db, *arguments):
        """Runs to the end; the report as JSON, and its wall time in seconds."""
        command = [self.options.bin / "gemm-tune", "--require-gpu", "-q", "--json", "--no-kernel-cache", "--db", db]
        start = time.monotonic()
        done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout), time.monotonic() - start

    def fresh(self, name, known=None):
        path = self.options.out / (name + ".db")
        path.unlink(missing_ok=True)
        if known:
            shutil.copy(known, path)
        return path

    def run(self, name, known, *arguments):
        """One call of the program, repeated; a row for each of its problems."""
        runs, walls, databases = [], [], []
        for turn in range(self.options.repeats):
            databases.append(self.fresh(f"{name}{turn}", known))
            report, wall = self.tune(databases[-1], *arguments)
            runs.append(report["problems"])
            walls.append(wall)
        print(f"{name}: {' '.join(arguments)}: {statistics.median(walls):.1f} s in the median of "
              f"{[round(wall, 1) for wall in walls]}", flush=True)
        long, budget = None, self.options.long
        if budget:
            long = self.tune(self.fresh(f"{name}-long", databases[0]), *arguments, "--budget", str(budget))[0]["problems"]
        for i, first in enumerate(runs[0]):
            of_all = [run[i] for run in runs]
            line = (f"  {first['problem']}: {[p['funnel']['tried'] for p in of_all]} tries, "
                    f"{[round(p['seconds'], 1) for p in of_all]} s, "
                    f"winners {[round(p['winner']['time_us'], 2) for p in of_all]} us")
            if long:
                line += f"; over {budget} tries {first['winner']['time_us'] / long[i]['winner']['time_us']:.4f}"
            print(line, flush=True)


def nothing(study):
    study.run("nothing", None, "--sizes", "1024,4096")


def new(study):
    known = study.fresh("known")
    print(f"20 sizes: {study.tune(known, '--sizes', KNOWN)[1]:.1f} s", flush=True)
    for size in ("1280", "1792", "2048x1024x4096"):
        study.run("new-" + size, known, "--sizes", size)


def job(study):
    study.run("job", None, "--sizes", TWELVE)


def types(study):
    study.run("tf32", None, "--accuracy", "tf32", "--sizes", "1024,4096,8192")
    study.run("odd", None, "--type", "bf16", "--sizes",
              "64x50257x768:layout=nt,8x50257x768:layout=nt,2048x50257x768:layout=nt")


STAGES = {"nothing": nothing, "new": new, "job": job, "types": types}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin", type=lambda text: pathlib.Path(text).resolve(), help="the folder of the built gemm-tune")
    parser.add_argument("out", type=pathlib.Path, help="an existing folder for databases")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all unless named")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each")
    parser.add_argument("--long", type=int, default=600, help="tries of the run that each is held against; 0: none")
    options = parser.parse_args()
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage: {', '.join(sorted(unknown))}")
    for stage in options.stages or STAGES:
        STAGES[stage](Study(options))


if __name__ == "__main__":
    main()
