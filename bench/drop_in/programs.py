#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of programs/ as they are and under gemm-tune, on one GPU: step times, served calls, results.

usage: programs.py [--programs LIST] [--time M:SS] [--steps N] [--limit N] BIN OUT
  BIN: the folder of the built gemm-tune. OUT: a folder for logs, reports and a database for each program; made if missing.
  What an earlier run has left there counts as tuned.
  --programs: of gpt2:fp32, gpt2:bf16, llama:bf16, mlp_step:fp32, jax_step:fp32, jax_step:bf16, cupy_solver:fp32 (all)
  --time: gemm-tune's search, for each program (0:30). --steps: that are timed (20). --limit: seconds for one command (180).

Each program runs (1) as it is; (2) by `gemm-tune run` without winners, which counts its calls; (3) by `gemm-tune speed-up`:
counted, tuned, served; (4) by `gemm-tune run` under the winners; (5) as it is. JAX runs with --audit. Times of
1 and 5, and of 3's last and 4, are averaged, and how far they lie apart is shown: a speed within that is none.

Prints a table of times, what was served and why the rest was not, and the products whose calls took longest served, with
the GPU time of a call in the program before (2) and served (4), and what the database expects. Everything is in
OUT/programs.json, the programs' and gemm-tune's own words in OUT/*.log.
Exit code: 0; 1 where a program's results differ by more than its bound, or where one did not run.
"""
import argparse
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time

from drop_in import calls, print_served, problem_of, read_report

PROGRAMS = ("gpt2:fp32", "gpt2:bf16", "llama:bf16", "mlp_step:fp32", "jax_step:fp32", "jax_step:bf16", "cupy_solver:fp32")
FINDS_CUBLAS_BY_DLSYM = ("jax_step",)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=lambda text: text.split(","), default=PROGRAMS)
    parser.add_argument("--time", default="0:30")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--limit", type=float, default=180)
    for name in ("bin", "out"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args(arguments)
    unknown = [program for program in options.programs if program not in PROGRAMS]
    if unknown:
        parser.error(f"--programs has no {unknown[0]}: name some of {','.join(PROGRAMS)}")
    return options


class Sequence:
    """The commands of one program."""

    def __init__(self, options, program):
        name, dtype = program.split(":")
        self.options, self.name, self.label = options, name, f"{name}-{dtype}"
        file = pathlib.Path(__file__).with_name("programs") / f"{name}.py"
        self.program = [sys.executable, file, "--dtype", dtype, "--steps", str(options.steps)]
        self.log = options.out / f"{self.label}.log"
        self.log.write_text("")
        self.reports = [options.out / f"{self.label}.{kind}.jsonl" for kind in ("counted", "served")]
        for report in self.reports:
            report.unlink(missing_ok=True)

    def lines(self, *prefix):
        """The lines of JSON that the program printed, of each time that it ran. Raises RuntimeError."""
        command = [str(word) for word in (*prefix, *self.program)]
        began = time.monotonic()
        with self.log.open("a") as log:
            print(f"$ {' '.join(command)}", file=log, flush=True)
            # A session of its own, so that a program under gemm-tune ends with it.
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True) as run:
                try:
                    printed, _ = run.communicate(timeout=self.options.limit)
                except subprocess.TimeoutExpired:
                    os.killpg(run.pid, signal.SIGKILL)
                    raise RuntimeError(f"{' '.join(command)} was ended after {self.options.limit:g} s") from None
            print(f"{printed}# exit code {run.returncode}, {time.monotonic() - began:.1f} s", file=log)
        lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        if run.returncode != 0 or not lines:
            raise RuntimeError(f"{' '.join(command)} exited with {run.returncode}: see {self.log}")
        return lines

    def under_gemm_tune(self, verb, db, *more):
        audit = ["--audit"] if self.name in FINDS_CUBLAS_BY_DLSYM else []
        return self.lines(self.options.bin / "gemm-tune", verb, *audit, "--db", db, *more, "--")

    def run(self):
        """What all runs printed, and the reports without winners and with them."""
        out = self.options.out
        db = out / f"{self.label}.db"
        stock = self.lines()
        counted = self.under_gemm_tune("run", out / "no-winners.db", "--report", self.reports[0])
        speed_up = self.under_gemm_tune("speed-up", db, "--time", self.options.time)
        served = [speed_up[-1]] + self.under_gemm_tune("run", db, "--report", self.reports[1])
        stock += self.lines()
        return {"stock": stock, "counted": counted, "served": served, "reports": [shapes_of(self.reports[0]), read_report(self.reports[1])]}


def difference(one, other):
    """The largest, over the largest number of the first."""
    if len(one) != len(other) or not all(map(math.isfinite, one + other)):
        return float("inf")
    return max(abs(a - b) for a, b in zip(one, other)) / max(map(abs, one))


def shapes_of(report):
    """Without the errors: that there is no database of winners is meant for the first report."""
    lines = map(json.loads, report.read_text().splitlines()) if report.exists() else ()
    return [line for line in lines if "m" in line]


def mean(values):
    return sum(values) / len(values)


def apart(values):
    return (max(values) - min(values)) / mean(values)


def print_times(label, ran):
    for name in ran["stock"][0]["ms"]:
        stock, served = ([line["ms"][name] for line in ran[kind]] for kind in ("stock", "served"))
        print(f"{label:<18}{name:<24}{mean(stock):>10.3f}{mean(served):>10.3f}{mean(stock) / mean(served):>8.3f}"
              f"{100 * apart(stock):>8.1f}{100 * apart(served):>8.1f}")


def products_in_context(counted, served):
    """(what the calls cost more served, ms; text) of each product that a kernel of ours served, the worst first."""

    def times(report):
        found = {}
        for shape in report:
            if shape.get("timed"):
                key = (shape["function"], problem_of(shape), shape["type_a"], shape["epilogue"],
                       "/".join(map(str, shape["alignments"])))
                us, timed, count, expected = found.get(key, (0, 0, 0, None))
                found[key] = (us + shape["gpu_us"], timed + shape["timed"], count + calls(shape),
                              (shape["expected_us"], shape["cublas_us"]) if "expected_us" in shape else expected)
        return found

    before, rows = times(counted), []
    was_served = {problem_of(shape) for shape in served if shape["served"] > 0}
    for key, (us, timed, count, expected) in times(served).items():
        if key not in before or key[1] not in was_served:
            continue
        old, new = before[key][0] / before[key][1], us / timed
        database = f"{expected[1]:>10.1f}{expected[0]:>10.1f}" if expected else f"{'-':>10}{'-':>10}"
        rows.append((count * (new - old) / 1000, f"{old:>10.1f}{new:>10.1f}{database}{count:>8}  {' '.join(map(str, key))}"))
    return sorted(rows, reverse=True)


def main():
    options = parse(sys.argv[1:])
    options.out.mkdir(parents=True, exist_ok=True)
    everything, wrong = {}, []
    print(f"{'program':<18}{'median of':<24}{'stock ms':>10}{'served ms':>10}{'speed':>8}{'apart %':>8}{'apart %':>8}", flush=True)
    for program in options.programs:
        sequence = Sequence(options, program)
        began = time.monotonic()
        try:
            ran = everything[program] = sequence.run()
        except RuntimeError as error:
            print(f"{program:<18}{error}\n  without winners: ", end="")
            print_served(shapes_of(sequence.reports[0]))
            wrong.append(f"{program} did not run to its end")
            continue
        print_times(program, ran)
        first = ran["stock"][0]
        runs = {kind: max(difference(first["digest"], line["digest"]) for line in ran[kind][kind == "stock":])
                for kind in ("stock", "served")}
        print(f"  {first['library']} on {first['gpu']}; {time.monotonic() - began:.0f} s; results differ by {runs['served']:.1e} "
              f"served, {runs['stock']:.1e} from stock to stock, {first['bound']:.0e} is allowed")
        for note in {line.get("note") for kind in ("stock", "served") for line in ran[kind]} - {None}:
            print(f"  {note}")
        if not runs["served"] <= first["bound"]:
            wrong.append(f"{program}: results differ by {runs['served']:.1e}")
        for kind, report in zip(("without winners", "with winners"), ran["reports"]):
            print(f"  {kind}: ", end="")
            print_served(report)
        rows = products_in_context(*ran["reports"])
        if rows:
            print("  us of a call: before, served; by the database cuBLAS's and ours; calls")
        for _, text in rows[:4]:
            print(f"  {text}", flush=True)
        (options.out / "programs.json").write_text(json.dumps(everything, indent=1))
    for sentence in wrong:
        print(f"wrong: {sentence}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
