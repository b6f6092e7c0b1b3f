#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our kernels with cublasSgemm, cublasLt's best of up to 100 heuristics and cublasGemmEx with cuBLAS's own
autotuning, all timed by one rule in one run.

usage: compare.py [--db FILE] [--budget N] [--time T] [--device N] BIN OUT [SHAPE...]
  BIN: the folder of the built gemm-tune. OUT: an existing folder for compare.db and compare.json.
  SHAPE: MxNxK, :layout=nt and :batch=64 may follow; default: the list below.
  --budget and --time are gemm-tune's, for each shape. --db: a database of earlier runs; without a budget or a time, only
  its candidates take part, and only the finals are repeated.

Prints a table (TFLOP/s; the medians of the finals, hot and with operands outside L2), geometric means, the shapes where
we are slower, and which goals are met. The speeds in one line come from the same rounds; cublasLt's algorithm and our
config are the fastest hot ones. Errors are relative, in the Frobenius norm. "better" is of cublasSgemm and cublasLt. Where cuBLAS does not autotune, the reason is
printed. Needs a GPU. Exit code: 0, even if goals are missed; 1 if a shape has no result.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

SHAPES = """
256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 4096x4096x4096 8192x8192x8192 1000x1000x1000 4096x512x1024
256x256x8192 16x4096x4096 128x4096x4096 4096x4096x128 1023x1025x1021
1x4096x4096 8x11008x4096 64x64x65536 100000x64x64 3000x3000x3000 384x384x384
4096x4096x4096:layout=nt 4096x4096x4096:layout=tn 4096x4096x4096:layout=tt 128x128x128:batch=64
""".split()

# Shape, and the least speed over cublasSgemm's.
SHAPE_GOALS = [("2048x2048x2048", 1.05), ("4096x4096x4096", 1.05), ("8192x8192x8192", 1.05), ("1024x1024x1024", 1.10),
               ("1000x1000x1000", 1.10), ("1023x1025x1021", 1.10), ("16x4096x4096", 2.5), ("256x256x8192", 1.15)]
LEAST = 0.98           # of cublasSgemm, at every shape
MEAN_OVER_SGEMM = 1.20
MEAN_OVER_BETTER = 1.12

SHAPE = re.compile(r"^(\d+)x(\d+)x(\d+)(?::layout=(nn|nt|tn|tt))?(?::batch=(\d+))?$")


def parse_shape(text):
    """(M, N, K, layout, batch), or None."""
    match = SHAPE.match(text)
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3]), match[4] or "nn", int(match[5] or 1)


def arguments_for(text):
    M, N, K, layout, batch = parse_shape(text)
    chosen = ["--sizes", f"{M}x{N}x{K}"]
    if layout != "nn":
        chosen += ["--layout", layout]
    if batch != 1:
        chosen += ["--batch", str(batch)]
    return chosen


def tune(program, db, shape, options):
    """The shape's part of gemm-tune's report, or None."""
    done = subprocess.run([program, "--require-gpu", "-q", "--json", "--db", db, "--baselines",
                           "cublas,cublaslt,cublas-autotuned",
                           "--no-kernel-cache",  # no search profits from what another one has compiled
                           *options, *arguments_for(shape)], stdout=subprocess.PIPE, text=True)
    try:
        [problem] = json.loads(done.stdout)["problems"]
        return problem if problem["winner"] else None
    except (ValueError, KeyError):
        return None


def kind_of(baseline):
    function = baseline.split(" ")[0]
    return "auto" if function.endswith("-autotuned") else "lt" if function == "cublasLt" else "sgemm"


def row_of(shape, problem):
    """Times in microseconds of ours, cublasSgemm, cublasLt and the autotuned call: hot, and cold, or None."""
    winner = problem["winner"]
    times = {"auto": {"time_us": None, "cold_us": None}, "ours": winner}
    for baseline in winner["baselines"]:
        times[kind_of(baseline["name"])] = baseline
    return {"shape": shape, "config": winner["config"], "tried": problem["funnel"]["tried"],
            "absent": problem["absent_baselines"], "names": [baseline["name"] for baseline in winner["baselines"]],
            "hot": {name: one["time_us"] for name, one in times.items()},
            "cold": {name: one["cold_us"] for name, one in times.items()},
            "error": times["sgemm"].get("error_ratio")}


def over_sgemm(us):
    return us["sgemm"] / us["ours"] if us["sgemm"] and us["ours"] else None


def over_better(us):
    return min(us["sgemm"], us["lt"]) / us["ours"] if us["sgemm"] and us["lt"] and us["ours"] else None


def over_auto(us):
    return us["auto"] / us["ours"] if us["auto"] and us["ours"] else None


def mean(ratios):
    """Geometric; None of none."""
    known = [ratio for ratio in ratios if ratio is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def tflops(shape, us):
    M, N, K, _, batch = parse_shape(shape)
    return f"{2e-6 * M * N * K * batch / us:.3g}" if us else "-"


def ratio_text(ratio):
    return "-" if ratio is None else f"{ratio:.3f}"


def table(rows):
    kinds = ("sgemm", "lt", "auto", "ours")
    columns = "cublasSgemm | cublasLt | autotuned | ours | over Sgemm | over better | over autotuned"
    lines = [f"| shape | {columns} | cold: {columns} | error over Sgemm's | tried | config |", "|---" * 18 + "|"]
    for row in rows:
        cells = [row["shape"]]
        for us in (row["hot"], row["cold"]):
            cells += [tflops(row["shape"], us[name]) for name in kinds]
            cells += [ratio_text(over(us)) for over in (over_sgemm, over_better, over_auto)]
        cells += [ratio_text(row["error"]), str(row["tried"]), row["config"]]
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["geometric mean"]
    for kind in ("hot", "cold"):
        cells += [""] * len(kinds)
        cells += [ratio_text(mean(over(row[kind]) for row in rows)) for over in (over_sgemm, over_better, over_auto)]
    return lines + ["| " + " | ".join(cells + ["", "", ""]) + " |"]


def losses(rows):
    found = []
    for kind in ("hot", "cold"):
        for row in rows:
            ratio = over_better(row[kind])
            if ratio is not None and ratio < 1:
                rival = min(("sgemm", "lt"), key=row[kind].get)
                found.append(f"{row['shape']} {kind}: {ratio:.3f} of {'cublasLt' if rival == 'lt' else 'cublasSgemm'}")
    return found


def judged(value, least):
    return "not run" if value is None else f"{value:.3f}, " + ("met" if value >= least else "MISSED")


def goals(rows):
    """A line for each goal: hot, which decides, and cold."""
    by_shape = {row["shape"]: row for row in rows}
    lines = []

    def say(what, least, of):
        hot, cold = of("hot"), of("cold")
        lines.append(f"{what} at least {least:.2f}: {judged(hot, least)} (cold {ratio_text(cold)})")

    say(f"geometric mean over cublasSgemm, {len(rows)} shapes,", MEAN_OVER_SGEMM,
        lambda kind: mean(over_sgemm(row[kind]) for row in rows))
    say(f"geometric mean over the better of both, {len(rows)} shapes,", MEAN_OVER_BETTER,
        lambda kind: mean(over_better(row[kind]) for row in rows))
    say("every shape over cublasSgemm", LEAST,
        lambda kind: min((r for r in (over_sgemm(row[kind]) for row in rows) if r is not None), default=None))
    for shape, least in SHAPE_GOALS:
        say(f"{shape} over cublasSgemm", least,
            lambda kind, shape=shape: over_sgemm(by_shape[shape][kind]) if shape in by_shape else None)
    return lines


def search_options(arguments):
    chosen = ["--device", str(arguments.device)] if arguments.device is not None else []
    if arguments.budget:
        chosen += ["--budget", arguments.budget]
    if arguments.time:
        chosen += ["--time", arguments.time]
    if arguments.db and not (arguments.budget or arguments.time):
        chosen += ["--budget", "1"]  # what the database holds counts against it
    return chosen + (["--finals"] if arguments.db else [])


def parse_arguments():
    parser = argparse.ArgumentParser(description="Ours beside cublasSgemm and cublasLt.")
    parser.add_argument("--db", help="a database of earlier runs")
    parser.add_argument("--budget", help="for each shape, as gemm-tune's")
    parser.add_argument("--time", help="for each shape, as gemm-tune's")
    parser.add_argument("--device", type=int)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    arguments = parser.parse_args()
    for shape in arguments.shapes:
        if parse_shape(shape) is None:
            parser.error(f"'{shape}' is no shape: as in 4096x512x1024:layout=nt:batch=8")
    for folder in (arguments.bin, arguments.out):
        if not folder.is_dir():
            parser.error(f"'{folder}' is no folder")
    if arguments.db and not pathlib.Path(arguments.db).is_file():
        parser.error(f"'{arguments.db}' is no database")
    return arguments


def main():
    arguments = parse_arguments()
    program = arguments.bin.resolve() / "gemm-tune"
    db = arguments.db or arguments.out / "compare.db"
    rows, missing, device = [], [], ""
    for shape in arguments.shapes:
        problem = tune(program, db, shape, search_options(arguments))
        if problem is None:
            missing.append(shape)
            print(f"{shape}: no result", file=sys.stderr, flush=True)
            continue
        device = problem["device"]
        rows.append(row_of(shape, problem))
        print(f"{shape}: over cublasSgemm {ratio_text(over_sgemm(rows[-1]['hot']))}, over the better of both "
              f"{ratio_text(over_better(rows[-1]['hot']))}, {problem['seconds']:.0f} s", file=sys.stderr, flush=True)
        # At once, for a run that is cut off.
        (arguments.out / "compare.json").write_text(json.dumps(
            {"device": device, "missing": missing, "rows": rows}, indent=2) + "\n")
    if rows:
        print(f"{device}; the last shape's baselines: {', '.join(rows[-1]['names'])}")
        print("\n".join(["", *table(rows), "", "Behind the better of both:", *(losses(rows) or ["nowhere"]), "",
                         "Goals:", *goals(rows)]))
        absent = sorted({reason for row in rows for reason in row["absent"]})
        if absent:
            print("\n".join(["", "Without the baseline:", *absent]))
    if missing:
        print(f"\nWithout a result: {', '.join(missing)}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
