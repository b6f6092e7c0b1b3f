#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the library's choice at random problems that its database was not tuned for.

usage: untuned_choice.py [--seconds S] [--budget N] [--shapes N] [--seed N] [--tuned DB] [--require]
                         BIN FOLDER
  BIN: the folder of the built gemm-tune. FOLDER: keeps the state, made if missing.

1. Tunes the 12 problems below into FOLDER/tuned.db, unless --tuned names a database.
2. Searches at the random problems into FOLDER/search.db, --budget candidates each: sizes from 64 to 8192, evenly
   distributed by their logarithm, half of them multiples of 8, in the four layouts in turn, none of which --tuned holds.
3. At each of them, asks `gemm-tune best` what it chooses from the first database. A kernel is timed in turn with the
   search's best, cublasSgemm and cublasLt's best, in one run's finals (FOLDER/judge-*.db). Where cuBLAS is the choice, its
   time is that of the search's finals; where the search's best is an algorithm of a library, the better baseline is the best. What ships
   is judged by `gemm-tune db import winners/DEVICE.json --db DB` and --tuned DB.

A handle that refines is judged by refined_choices, with FOLDER/tuned.db and the problems in FOLDER/search.txt.

Works for --seconds (540) and stops; the same command goes on. A problem is judged again when the choice or the best has
changed since. Prints a table once all are judged: the speed of the choice over that of the best of both it and the search
(so 1 at most), of cublasSgemm and of cublasLt; mean and worst. The choice of cuBLAS, or of nothing, counts as cublasSgemm;
a kernel that the tuner refuses to time has a speed of 0.
Needs a GPU. Exit codes: 0; 1 with --require where a goal is missed; 2 usage; 3 gemm-tune failed; 5 not
finished yet.
"""
import argparse
import contextlib
import json
import math
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

TUNED = """
512x512x512 2048x2048x2048 1023x1025x1021 384x384x384:layout=nt 2048x2048x2048:layout=nt 4096x256x512:layout=nt
512x512x512:layout=tn 2048x2048x2048:layout=tn 256x4096x1024:layout=tn 384x384x384:layout=tt 2048x2048x2048:layout=tt
512x512x4096:layout=tt
""".split()
LAYOUTS = ("nn", "nt", "tn", "tt")
LEAST_MEAN, LEAST, LEAST_OVER_CUBLAS = 0.95, 0.85, 0.98
NOTHING_FOUND = 4  # gemm-tune's exit code where some problem has no tuned config
LONGEST_JUDGEMENT = 60  # seconds: of the largest problem, with its cublasLt algorithms


class Unfinished(Exception):
    pass


class Failed(Exception):
    pass


def problems_of(db):
    """That the database has winners of."""
    try:
        with contextlib.closing(sqlite3.connect(f"{db.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return {problem for problem, in file.execute("SELECT problem FROM winners")}
    except sqlite3.Error as error:
        raise Failed(f"'{db}' cannot be read: {error}") from None


def random_shapes(count, seed, tuned=TUNED):
    """Distinct, in the order drawn; none of those tuned."""
    draw = random.Random(seed)
    shapes = []
    while len(shapes) < count:
        index = len(shapes)
        sizes = [round(math.exp(draw.uniform(math.log(64), math.log(8192)))) for _ in range(3)]
        if index % 8 < 4:
            sizes = [8 * round(size / 8) for size in sizes]
        layout = LAYOUTS[index % 4]
        shape = "x".join(map(str, sizes)) + ("" if layout == "nn" else f":layout={layout}")
        if shape not in shapes and shape not in tuned:
            shapes.append(shape)
    return shapes


class Job:
    def __init__(self, arguments):
        self.bin = arguments.bin.resolve()
        self.folder = arguments.folder
        self.budget = arguments.budget
        self.deadline = time.monotonic() + arguments.seconds
        self.tuned = arguments.tuned or self.folder / "tuned.db"
        self.must_tune = arguments.tuned is None
        self.state_file = self.folder / "state.json"
        self.state = {"seed": arguments.seed, "budget": arguments.budget, "shapes": arguments.shapes, "tuned": str(self.tuned),
                      "done": [], "rows": {}}
        if self.state_file.exists():
            before = json.loads(self.state_file.read_text())
            for name in ("seed", "budget", "shapes", "tuned"):
                if before[name] != self.state[name]:
                    raise Failed(f"{self.folder} was begun with {name} {before[name]}: name it again, or another folder")
            self.state = before

    def save(self):
        partial = self.state_file.with_suffix(".partial")
        partial.write_text(json.dumps(self.state, indent=2) + "\n")
        partial.replace(self.state_file)

    def left(self):
        return self.deadline - time.monotonic()

    def call(self, *arguments, good=(0,)):
        """The output of gemm-tune, which must end so; it is interrupted, not killed, when the time is up."""
        if self.left() <= 0:
            raise Unfinished
        process = subprocess.Popen([self.bin / "gemm-tune", *arguments], stdout=subprocess.PIPE, text=True)
        try:
            output, _ = process.communicate(timeout=self.left())
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # what was tried is stored
            process.communicate()
            raise Unfinished from None
        if process.returncode not in good:
            raise Failed(f"gemm-tune {' '.join(map(str, arguments))} failed with exit code {process.returncode}")
        return output

    def tune(self, step, shapes, db):
        if step in self.state["done"]:
            return
        sizes = self.folder / f"{step}.txt"
        sizes.write_text("\n".join(shapes) + "\n")
        self.call("--require-gpu", "-q", "--no-kernel-cache", "--seed", "1", "--budget", str(self.budget), "--baselines",
                  "cublas,cublaslt", "--db", db, "--sizes", f"@{sizes}")
        self.state["done"].append(step)
        self.save()

    def best(self, shapes, db):
        """The answer for each shape."""
        sizes = self.folder / "asked.txt"
        sizes.write_text("\n".join(shapes) + "\n")
        answers = json.loads(self.call("best", "--json", "-q", "--db", db, "--sizes", f"@{sizes}",
                                       good=(0, NOTHING_FOUND)))
        return {answer["problem"]: answer for answer in answers}

    def judge(self, shape, choice, best):
        db = self.folder / f"judge-{shape.replace(':', '-').replace('=', '-')}.db"
        for file in (db, db.with_name(db.name + "-wal"), db.with_name(db.name + "-shm")):
            file.unlink(missing_ok=True)
        chosen = kernel_of(choice)
        if not chosen:
            return row_of_cublas(choice, best)
        configs = [chosen]
        if kernel_of(best) not in (None, chosen):
            configs.append(best["config"])
        listed = [part for config in configs for part in ("--config", config)]
        [problem] = json.loads(self.call("--require-gpu", "-q", "--json", "--no-kernel-cache", "--seed", "1", "--finals",
                                         "--baselines", "cublas,cublaslt", "--db", db, "--sizes", shape, *listed))["problems"]
        if problem["winner"] is None:
            raise Failed(f"at {shape}, no candidate of {', '.join(configs)} survived: see {db}")
        file = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        times, reasons = {}, {}
        for config, median_us, disposition, reason in file.execute("SELECT config, median_us, disposition, reason FROM outcomes"):
            if disposition == "ok":
                times[config] = median_us
            else:
                reasons[config] = f"{disposition}: {reason}"
        driver, cuda = file.execute("SELECT driver_version, cuda_version FROM runs").fetchone()
        cublas = file.execute("SELECT max(library_version) FROM baselines").fetchone()[0]
        file.close()
        baselines = times_of(problem["winner"]["baselines"])
        return {"choice": chosen, "match": choice["match"], "best": best["config"],
                "choice_us": times.get(chosen), "reason": reasons.get(chosen),
                "best_us": min([*times.values(), *([] if kernel_of(best) else baselines.values())]),
                "sgemm_us": baselines["sgemm"], "lt_us": baselines["lt"],
                "run": f"{problem['device']}, driver {driver}, CUDA {cuda}, cuBLAS {cublas}"}

    def run(self, shapes):
        """The rows of all shapes, in order."""
        if self.must_tune:
            self.tune("tune", TUNED, self.tuned)
        self.tune("search", shapes, self.folder / "search.db")
        choices, bests = self.best(shapes, self.tuned), self.best(shapes, self.folder / "search.db")
        rows = self.state["rows"]
        for shape in shapes:
            choice, best = choices[shape], bests[shape]
            row = rows.get(shape)
            if row and (row["choice"], row["best"]) == (kernel_of(choice), best["config"]):
                continue
            if self.left() < min(LONGEST_JUDGEMENT, 6 * LONGEST_JUDGEMENT * flops(shape) / flops("8192x8192x8192") + 5):
                raise Unfinished
            rows[shape] = self.judge(shape, choice, best)
            self.save()
            print(f"{shape}: {of_best(rows[shape]):.3f} of the best", file=sys.stderr, flush=True)
        return [(shape, rows[shape]) for shape in shapes]


def kernel_of(answer):
    """None where a library serves."""
    return None if answer["config"].startswith("cublas") else answer["config"]


def times_of(baselines):
    return {"lt" if one["name"].startswith("cublasLt ") else "sgemm": one["time_us"] for one in baselines}


def row_of_cublas(choice, best):
    times = times_of(best["baselines"])
    return {"choice": None, "match": choice["match"], "best": best["config"], "choice_us": times["sgemm"], "reason": None,
            "best_us": best["time_us"], "sgemm_us": times["sgemm"], "lt_us": times.get("lt"), "run": None}


def flops(shape):
    M, N, K = map(int, shape.split(":")[0].split("x"))
    return 2 * M * N * K


def of_best(row):
    return min(row["best_us"] / row["choice_us"], 1.0) if row["choice_us"] else 0.0


def over(row, baseline):
    """None where the baseline was not timed."""
    if row[f"{baseline}_us"] is None:
        return None
    return row[f"{baseline}_us"] / row["choice_us"] if row["choice_us"] else 0.0


def text_of(ratio):
    return "-" if ratio is None else f"{ratio:.3f}"


def report(rows, command):
    """Prints the table; returns whether all goals are met."""
    for run in sorted({row["run"] for _, row in rows if row["run"]}):
        print(run)
    print(f"command: {command}\n")
    print("| problem | found | choice us | best us | of the best | over cublasSgemm | over cublasLt | choice | best |")
    print("|---" * 9 + "|")
    for shape, row in rows:
        choice_us = f"{row['choice_us']:.5g}" if row["choice_us"] else "-"
        print(f"| {shape} | {row['match']} | {choice_us} | {row['best_us']:.5g} | {of_best(row):.3f} "
              f"| {text_of(over(row, 'sgemm'))} | {text_of(over(row, 'lt'))} | {row['choice'] or 'cuBLAS'} | {row['best']} |")
    print()
    for shape, row in rows:
        if not row["choice_us"]:
            print(f"{shape}: the choice has no time, which counts as a speed of 0: {row['reason']}")
    met = [report_speed("of the best", [of_best(row) for _, row in rows], f"goals {LEAST_MEAN} and {LEAST}", LEAST_MEAN, LEAST),
           report_speed("over cublasSgemm", [over(row, "sgemm") for _, row in rows], f"goal {LEAST_OVER_CUBLAS} at each",
                        LEAST_OVER_CUBLAS, LEAST_OVER_CUBLAS)]
    report_speed("over cublasLt", [over(row, "lt") for _, row in rows])
    return all(met)


def report_speed(what, values, goal=None, least_mean=0, least=0):
    """Prints a line; returns whether the goal is met. A value that is missing meets none."""
    timed = [value for value in values if value is not None]
    if timed:
        mean, worst = sum(timed) / len(timed), min(timed)
        line = f"{what}: mean {mean:.3f}, worst {worst:.3f}, {sum(value < LEAST_OVER_CUBLAS for value in timed)} below .98"
    if len(timed) < len(values):
        line = f"{line}, {len(values) - len(timed)} not timed" if timed else f"{what}: not timed"
    met = goal is None or (len(timed) == len(values) and mean >= least_mean and worst >= least)
    print(line + (f"; {goal}: {'met' if met else 'MISSED'}" if goal else ""))
    return met


def parse_arguments():
    parser = argparse.ArgumentParser(description="The library's choice at problems that were not tuned.")
    parser.add_argument("--seconds", type=float, default=540, help="for this call")
    parser.add_argument("--budget", type=int, default=64, help="candidates of each search")
    parser.add_argument("--shapes", type=int, default=64, help="random problems")
    parser.add_argument("--seed", type=int, default=1, help="of the problems")
    parser.add_argument("--tuned", type=pathlib.Path, help="a database that is tuned already")
    parser.add_argument("--require", action="store_true", help="exit code 1 where a goal is missed")
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    for name in ("seconds", "budget", "shapes"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            parser.error(f"--{name.replace('_', '-')} {value}: it must be above 0")
    if not arguments.bin.is_dir():
        parser.error(f"'{arguments.bin}' is no folder")
    if arguments.tuned and not arguments.tuned.is_file():
        parser.error(f"'{arguments.tuned}' is no database")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    arguments = parse_arguments()
    try:
        tuned = problems_of(arguments.tuned) if arguments.tuned else TUNED
        rows = Job(arguments).run(random_shapes(arguments.shapes, arguments.seed, tuned))
    except Unfinished:
        print("untuned_choice: not finished; the same command goes on", file=sys.stderr)
        sys.exit(5)
    except Failed as failure:
        print(f"untuned_choice: {failure}", file=sys.stderr)
        sys.exit(3)
    met = report(rows, " ".join(sys.argv))
    sys.exit(1 if arguments.require and not met else 0)


if __name__ == "__main__":
    main()
