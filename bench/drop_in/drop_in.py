#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch in fp32 with and without the drop-in, on one GPU: results, served calls, times.

usage: drop_in.py [--parts LIST] [--budget N] [--tuning-time M:SS] [--db FILE] [--seconds N] [--limit N] [--without-lt]
                  BIN LIBRARY OUT
  BIN: the folder of the built gemm-tune. LIBRARY: libgemm_tune_blas.so, with libgemm_tune.so.0 beside it. OUT: a folder
  for what is made on the way; it is made if missing.
  --parts: what is run, of (default: all)
    operations  20 operations, CUDA graphs and a backward pass among them; their errors
    opinfos     PyTorch's own samples of mm, addmm, bmm, baddbmm, linear, matmul and einsum, beside stock's results
    block       a transformer block, also in a CUDA graph; times
    mlp         a training step of an MLP; loss and time
    compile     the same under torch.compile, smaller
    gp          a Gaussian process by gpytorch; by hand where there is none
    implicit    implicit's ALS, for SgemmEx
    kernels     the share of gemm-tune's kernels in the transformer block's multiplications, by PyTorch's profiler
    calls       whether the calls of the block that the drop-in counts are those of cuBLAS's own log without it
  --budget: gemm-tune's, for each shape (default 32). --tuning-time: its --time. --db: a tuned database; nothing is
  tuned then. --seconds: the longest that one time is measured (default 10). --limit: seconds for one process (default
  300); what it has done by then is used. --without-lt: PyTorch with DISABLE_ADDMM_CUDA_LT=1, so that addmm with a bias
  calls cublasSgemm, too.

Four processes do the same work: (1) as it is; (2) once, under the drop-in with an empty database, which lists the shapes;
(3) gemm-tune tunes these, the most work first; (4) under the drop-in with that database. TF32 is off. The errors are
against fp64, over the largest element. Exit code: 0; 1 where a result of (4) is off by more than 1e-5 and twice the
error of (1), a loss by more than 1e-3 of it, an OpInfo's sample by more than PyTorch's tolerance, where the counts of
`calls` differ, where no call was served, or where a part that --parts names did not run.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

MOST_ERROR, MOST_DIFFERENCE = 1e-5, 1e-3
NOT_ALL_TUNED = 4  # gemm-tune's exit code where a problem has no tuned config
PARTS = ("operations", "opinfos", "block", "mlp", "compile", "gp", "implicit", "kernels", "calls")


def cuda_libraries():
    """The folder of the CUDA libraries that came with PyTorch, where gemm-tune finds NVRTC and cuBLAS."""
    spec = importlib.util.find_spec("nvidia")
    folders = [pathlib.Path(at) / "cu13" / "lib" for at in spec.submodule_search_locations] if spec else []
    return [str(folder) for folder in folders if folder.is_dir()]


def run(command, environment, limit=None, good=None):
    """Standard output; where the command takes longer than the limit, what it had written until then. good: exit codes
    other than 0 after which the script goes on, each with the sentence to print."""
    environment = {**os.environ, **environment}
    known = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    environment["LD_LIBRARY_PATH"] = ":".join(known + cuda_libraries())
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as expired:
        print(f"{' '.join(map(str, command))} was ended after {limit} s")
        return (expired.stdout or b"").decode()
    if done.returncode in (good or {}):
        print(good[done.returncode])
    elif done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}")
    return done.stdout


def run_work(parts, environment, limit, *more):
    """What drop_in_work.py says of itself, and of each part."""
    work = pathlib.Path(__file__).with_name("drop_in_work.py")
    lines = run([sys.executable, work, *more, *parts], environment, limit).splitlines()
    said = [json.loads(line) for line in lines if line.startswith("{")]
    done = {line["part"]: line for line in said if "part" in line}
    for part in parts:
        done.setdefault(part, {"not_run": f"not done within {limit} s"})
    return {"about": said[0] if said and "torch" in said[0] else {"torch": "?", "gpu": "?"}, "parts": done}


def all_of(work, kind):
    """The times, errors or values of all parts."""
    return {name: value for part in work["parts"].values() for name, value in part.get(kind, {}).items()}


def read_report(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for line in lines:
        if "error" in line:
            print(f"{line['program']}: {line['error']}")
    return [line for line in lines if "m" in line]


def problem_of(shape):
    """gemm-tune's text: a column-major product is the row-major one with the operands swapped."""
    layout = "".join("n" if op == "N" else "t" for op in (shape["op_b"], shape["op_a"]))
    batch = f":batch={shape['batch']}" if shape["batch"] > 1 else ""
    return f"{shape['n']}x{shape['m']}x{shape['k']}:layout={layout}{batch}"


def flops(shape):
    return 2 * shape["m"] * shape["n"] * shape["k"] * shape["batch"]


def calls(shape):
    return shape["served"] + sum(shape["declined"].values())


def problems_of(report):
    """The fp32 problems with kernels to tune, the most work first."""
    work_of = {}
    for shape in report:
        if [shape["type_a"], shape["type_b"], shape["type_c"]] == ["f32"] * 3 and flops(shape) > 0:
            text = problem_of(shape)
            work_of[text] = work_of.get(text, 0) + calls(shape) * flops(shape)
    return sorted(work_of, key=work_of.get, reverse=True)


def print_served(report):
    served = sum(shape["served"] for shape in report)
    everything = sum(map(calls, report))
    share = sum(s["served"] * flops(s) for s in report) / max(1, sum(calls(s) * flops(s) for s in report))
    print(f"served {served} of {everything} calls, {100 * share:.1f} % of their operations")
    reasons = {}
    for shape in report:
        for reason, count in shape["declined"].items():
            reasons.setdefault(reason, []).append((count, f"{shape['function']} {problem_of(shape)} {shape['type_a']}"))
    for reason, shapes in sorted(reasons.items()):
        shapes.sort(reverse=True)
        print(f"  declined {sum(count for count, _ in shapes)}: {reason}: {', '.join(text for _, text in shapes[:4])}"
              + (", ..." if len(shapes) > 4 else ""))
    return served


def normal(problem):
    """A problem's text with its layout and batch, and without its alignment, which cuBLAS's log does not have."""
    sizes, *fields = problem.split(":")
    values = {"layout": "nn", "batch": "1", **dict(field.split("=") for field in fields)}
    return f"{sizes}:layout={values['layout']}:batch={values['batch']}"


def counts_of_log(listed):
    """Problem -> calls, of what `gemm-tune capture --log` has written."""
    found = re.findall(r"^(\S+)  # (\d+) calls?\b", listed, re.MULTILINE)
    return {normal(problem): int(count) for problem, count in found if ":type=" not in problem}


def counts_of_report(report):
    """The same of the drop-in's report: cuBLAS's own log has no calls of cublasLt."""
    counts = {}
    for shape in report:
        if shape["type_a"] == "f32" and shape["function"] != "cublasLtMatmul" and flops(shape) > 0:
            problem = normal(problem_of(shape))
            counts[problem] = counts.get(problem, 0) + calls(shape)
    return counts


def differing_counts(log, report):
    return [f"{problem}: {log.get(problem, 0)} in cuBLAS's log, {report.get(problem, 0)} seen by the drop-in"
            for problem in sorted(log.keys() | report.keys()) if log.get(problem, 0) != report.get(problem, 0)]


def wrong_results(stock, tuned):
    """Sentences about results of the second that are not those of the first."""
    wrong = []
    before = all_of(stock, "errors")
    for name, error in all_of(tuned, "errors").items():
        if not error <= max(MOST_ERROR, 2 * before.get(name, 0)):
            wrong.append(f"{name}: error {error:.2e}, stock's {before.get(name, 0):.2e}")
    values = all_of(stock, "values")
    for name, value in all_of(tuned, "values").items():
        if "loss" in name and name in values and not abs(value - values[name]) <= MOST_DIFFERENCE * abs(values[name]):
            wrong.append(f"{name}: {value}, stock's {values[name]}")
    return wrong + [sentence for part in tuned["parts"].values() for sentence in part.get("wrong", [])]


def print_results(stock, tuned):
    errors, times, values = (all_of(tuned, kind) for kind in ("errors", "times", "values"))
    if errors:
        print(f"\n{'operation':<28}{'error, stock':>14}{'error, drop-in':>16}")
    before = all_of(stock, "errors")
    for name, error in errors.items():
        print(f"{name:<28}{before.get(name, float('nan')):>14.2e}{error:>16.2e}")
    if times:
        print(f"\n{'time':<60}{'stock, ms':>12}{'drop-in, ms':>14}{'speed':>8}")
    before = all_of(stock, "times")
    for name, time in times.items():
        if name in before:
            print(f"{name:<60}{before[name]:>12.3f}{time:>14.3f}{before[name] / time:>8.3f}")
    if values:
        print(f"\n{'value':<60}{'stock':>12}{'drop-in':>14}")
    before = all_of(stock, "values")
    for name, value in values.items():
        print(f"{name:<60}{before.get(name, float('nan')):>12.6g}{value:>14.6g}")
    own, cublas = (values.get(f"transformer block, us in {whose} kernels") for whose in ("gemm-tune's", "cuBLAS's"))
    if own is not None and own + cublas > 0:
        print(f"\n{100 * own / (own + cublas):.1f} % of the transformer block's GEMM time is in gemm-tune's kernels")
    for part, done in tuned["parts"].items():
        for kind in ("note", "not_run"):
            if kind in done:
                print(f"{part}: {'not run: ' if kind == 'not_run' else ''}{done[kind]}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=None)
    parser.add_argument("--budget", default="32")
    parser.add_argument("--tuning-time")
    parser.add_argument("--db")
    parser.add_argument("--seconds", default="10")
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--without-lt", action="store_true")
    for name in ("bin", "library", "out"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts or [] if part not in PARTS]
    if unknown:
        parser.error(f"--parts has no {unknown[0]}: name some of {','.join(PARTS)}")
    return options


def tune(options, problems, db):
    """Where --tuning-time runs out, the problems that come last have no kernel, and cuBLAS serves them."""
    print(f"tuning {len(problems)} problems", flush=True)
    time = ["--time", options.tuning_time] if options.tuning_time else []
    run([options.bin / "gemm-tune", "--require-gpu", "-q", "--db", db, "--budget", options.budget, *time,
         "--sizes", ",".join(problems)], {"XDG_CACHE_HOME": str(options.out / "cache")},
        good={NOT_ALL_TUNED: "some problems have no tuned kernel: gemm-tune's time ran out before their turn, or no "
                             "candidate survived; the others go on"})


def compare_calls(options, under_drop_in):
    """Sentences about counts of the transformer block's calls in which the drop-in and cuBLAS's log differ."""
    log, listed, report = (options.out / name for name in ("cublas.log", "logged.txt", "counted.jsonl"))
    log.unlink(missing_ok=True)
    without_lt = {"DISABLE_ADDMM_CUDA_LT": "1"}
    stock = run_work(["calls"], {**without_lt, "CUBLAS_LOGINFO_DBG": "1", "CUBLAS_LOGDEST_DBG": str(log)}, options.limit)
    counted = under_drop_in(["calls"], options.out / "missing.db", report, without_lt)
    for work in (stock, counted):
        if "not_run" in work["parts"]["calls"]:
            return [f"calls: not run: {work['parts']['calls']['not_run']}"]
    run([options.bin / "gemm-tune", "capture", "--log", log, "-o", listed], {})
    in_log, in_report = counts_of_log(listed.read_text()), counts_of_report(read_report(report))
    different = differing_counts(in_log, in_report)
    print(f"calls: {sum(in_log.values())} in cuBLAS's log, {sum(in_report.values())} seen by the drop-in, "
          f"{len(different)} of {len(in_log)} problems differ")
    return different


def main():
    options = parse(sys.argv[1:])
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    parts = [part for part in options.parts or PARTS if part != "calls"]
    common = {"DISABLE_ADDMM_CUDA_LT": "1"} if options.without_lt else {}
    seconds = ["--seconds", options.seconds]

    def under_drop_in(chosen, db, report, environment, *more):
        report.unlink(missing_ok=True)
        return run_work(chosen, {**environment, "LD_PRELOAD": str(options.library), "GEMM_TUNE_DB": str(db),
                                 "GEMM_TUNE_BLAS_REPORT": str(report), "XDG_CACHE_HOME": str(out / "cache")},
                        options.limit, *more)

    wrong = compare_calls(options, under_drop_in) if "calls" in (options.parts or PARTS) else []
    served = None
    if parts:
        stock = run_work(parts, common, options.limit, *seconds, "--save", str(out / "opinfos.pt"))
        print(f"PyTorch {stock['about']['torch']} on {stock['about']['gpu']}"
              + (", without cublasLt in addmm" if options.without_lt else ""))
        db = pathlib.Path(options.db).resolve() if options.db else out / "drop_in.db"
        if not options.db:
            under_drop_in(parts, out / "missing.db", out / "untuned.jsonl", common, "--once")
            problems = problems_of(read_report(out / "untuned.jsonl"))
            tune(options, problems, db)
        tuned = under_drop_in(parts, db, out / "served.jsonl", common, *seconds, "--compare", str(out / "opinfos.pt"))
        served = print_served(read_report(out / "served.jsonl"))
        print_results(stock, tuned)
        wrong += wrong_results(stock, tuned)
        if options.parts:
            wrong += [f"{part}: not run" for part in parts if "not_run" in tuned["parts"][part]]
        (out / "drop_in.json").write_text(json.dumps({"stock": stock, "drop_in": tuned}, indent=1))
    for sentence in wrong:
        print(f"wrong: {sentence}")
    sys.exit(1 if wrong or served == 0 else 0)


if __name__ == "__main__":
    main()
