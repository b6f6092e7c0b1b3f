#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run on one GPU took, as input of gemm-tune-research simulate.

usage: cluster_recording.py DATABASE GEMM_TUNE [--run NUMBER]... [--plan-factor F] > RECORDING

DATABASE: of runs that were measured on one GPU; --run: the ids of those to take (gemm-tune's table
runs), all unless told. GEMM_TUNE: the program, whose --dry-run tells what the enumeration of each
problem's space takes on this machine. --plan-factor: what it takes on the machine of the run over
that, 1 unless told.

The database has each candidate's seconds in the compiler and on the GPU. It has no seconds of the
finals: they are what is left of the time from the last candidate to the ranks, without the
enumeration of the next problem's space and the compilation of the winner's variants.
"""
import argparse
import datetime
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile

LEAST_FINALS_S = 0.2


def seconds_of(moment):
    return datetime.datetime.fromisoformat(moment.rstrip("Z")).timestamp()


def plan_s(program, problem, arch):
    """Processor seconds of the enumeration: the lesser of two runs, since others may be at work."""
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "--arch", arch, "--sizes", problem, "--dry-run", "--db",
                            folder + "/none.db"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return min(once(), once())


def variants_of(config):
    """How many kernels serve other shapes and alignments than the winner's own."""
    values = dict(re.findall(r"(\w+)=(\d+)", config))
    vec, predicated = int(values.get("VEC", 1)), values.get("PRED", "1") == "1"
    return vec.bit_length() - 1 + (0 if predicated else 1)


def problems_of(database, run):
    """(name, arch, [(config, compile_s, gpu_s)], seconds from the last to the ranks, winner)"""
    rows = database.execute("""
        SELECT p.text, d.arch, m.candidate_id, m.compile_s, m.gpu_s, m.recorded_at, m.rank, c.config
        FROM measurements m JOIN problems p ON p.id = m.problem_id JOIN devices d ON d.id = m.device_id
        JOIN candidates c ON c.id = m.candidate_id
        WHERE m.run_id = ? AND m.source = 'measured' ORDER BY m.recorded_at, m.id""", (run,)).fetchall()
    names = dict.fromkeys(row[0] for row in rows)
    for name in names:
        own = [row for row in rows if row[0] == name]
        tries = [row for row in own if row[6] is None]
        finals = sorted((row for row in own if row[6] is not None), key=lambda row: row[6])
        if not tries or not finals:
            print(f"# left out: {name}, which has no search or no finals in run {run}")
            continue
        closing = seconds_of(finals[0][5]) - seconds_of(tries[-1][5])
        yield name, own[0][1], [row[2:5] for row in tries], closing, finals[0][7]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("database")
    parser.add_argument("program")
    parser.add_argument("--run", type=int, action="append")
    parser.add_argument("--plan-factor", type=float, default=1)
    arguments = parser.parse_args()
    database = sqlite3.connect(f"file:{arguments.database}?mode=ro", uri=True)
    runs = arguments.run or [run for run, in database.execute("SELECT id FROM runs ORDER BY id")]
    numbers = {}  # of configs, as they come
    for run in runs:
        problems = list(problems_of(database, run))
        plans = [arguments.plan_factor * plan_s(arguments.program, one[0], one[1]) for one in problems]
        for i, (name, _, tries, closing, winner) in enumerate(problems):
            compile_s = statistics.mean(one[1] or 0 for one in tries)
            variants = variants_of(winner)
            next_plan = plans[i + 1] if i + 1 < len(plans) else 0
            finals = closing - next_plan - (compile_s if variants else 0)
            gpu_s = statistics.median(one[2] for one in tries if one[2])
            print(f"problem {name} {plans[i]:.3f} {max(finals, LEAST_FINALS_S):.3f} {variants} "
                  f"{compile_s:.3f} {gpu_s:.3f}")
            for config, compiled, measured in tries:
                number = numbers.setdefault(config, len(numbers))
                print(f"try {number} {compiled or 0:.2f} {measured or 0:.3f}")


if __name__ == "__main__":
    sys.exit(main())
