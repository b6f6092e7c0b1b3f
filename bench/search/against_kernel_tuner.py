#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gemm-tune with Kernel Tuner: the same kernel text, the same space, the same number of evaluations.

usage: against_kernel_tuner.py [--size N] [--evaluations N] [--seconds S] [--strategies A,B] [--seed N]
                               [--whole-space] BIN OUT
       against_kernel_tuner.py --recorded [--repeats N] [--evaluations N] [--seconds S] [--strategies A,B] [--seed N]
                               BIN OUT
  BIN: the folder of the built gemm-tune. OUT: an existing folder for databases and against_kernel_tuner.json.
  --size: of the square product, a multiple of 256; default 1024. --evaluations: of each search; default 100.
  --seconds: for each search; default 75. --strategies: Kernel Tuner's, each with its own defaults; default
  bayes_opt,genetic_algorithm,random_sample (its own default, brute_force, is the space in order).
  --whole-space: gemm-tune searches its whole space instead of the space below.
  --recorded: no GPU; both search the sweeps in research/sweeps, Kernel Tuner in its simulation mode, gemm-tune with
  `replay` and without a prior. Failed configs are left out, because Kernel Tuner's bayes_opt takes a failure for a time
  of 1.8e308. --repeats: of each sweep, each with its own seed; default 20. --seconds: for each strategy and sweep.

The space: the configs of warp_tiled in research/sweeps that cut no tiles of a ragged last wave, 2,636 at 1024. Each
search's best config by its own timing is then timed again by gemm-tune, all of them in turn with cublasSgemm.

Kernel Tuner runs unchanged, except for three things that its interface cannot express: a thread count that follows
from the parameters, more than 48 KiB of dynamic shared memory, and a struct as an argument, which is passed as its
members. On a GPU, Kernel Tuner counts every evaluation of a config; its simulation mode and gemm-tune count each config
once. The time of a search begins at the call of tune_kernel, for gemm-tune at the start of its process.

Needs Python's numpy and kernel_tuner 1.5 (pip install kernel_tuner cuda-python), for bayes_opt scikit-learn, and a GPU
unless --recorded. Exit code 1 if a search has no result, 2 if a requirement is missing.
"""
import argparse
import contextlib
import ctypes
import gzip
import importlib
import importlib.metadata
import importlib.util
import io
import json
import math
import multiprocessing
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "kernel_templates/warp_tiled/kernel.cuh"
SWEEPS = ROOT / "research/sweeps"
STRATEGIES = "bayes_opt,genetic_algorithm,random_sample"

# What is searched; the others follow from these or are held.
SEARCHED = ["BM", "BN", "BK", "WM", "TM", "TN", "WARPS_K", "STAGES", "SPLIT_K"]

# Of the members of InPlaceGemmArgs, in order: sizes, alpha and beta, A, B and D, leading dimensions, strides, workspace.
MEMBER_TYPES = (["int"] * 4 + ["float"] * 2 + ["const float*"] * 2 + ["float*"] + ["long long"] * 6
                + ["int*", "float*"])
COUNTERS = 16384  # kWorkspaceCounters


def fail(message, code=2):
    print(f"against_kernel_tuner.py: {message}", file=sys.stderr)
    sys.exit(code)


def say(text):
    print(text, flush=True)


def params_of(point):
    """All parameters of warp_tiled, in its order."""
    p = dict(zip(SEARCHED, point))
    return {"CLUSTER": 0, "BM": p["BM"], "BN": p["BN"], "BK": p["BK"], "WM": p["WM"],
            "WN": 32 * p["TM"] * p["TN"] // p["WM"], "TM": p["TM"], "TN": p["TN"], "WARPS_K": p["WARPS_K"],
            "STAGES": p["STAGES"], "ASYNC": int(p["STAGES"] > 2), "FRAGMENTS": 2, "VEC": 4, "RASTER": 8, "CTAS": 1,
            "SPLIT_K": p["SPLIT_K"], "TAIL": 0, "TA": 0, "TB": 0, "PRED": 0}


def config_text(point):
    return "warp_tiled/" + ",".join(f"{name}={value}" for name, value in params_of(point).items())


def tuned_params(point):
    return "{" + ",".join(f".{name}={value}" for name, value in params_of(point).items()) + "}"


def threads_of(point):
    p = params_of(point)
    return 32 * (p["BM"] // p["WM"]) * (p["BN"] // p["WN"]) * p["WARPS_K"]


def smem_bytes(point):
    p = params_of(point)
    stages = p["STAGES"] * p["BK"] * (p["BM"] + 4 + p["BN"])  # A's rows are padded by 4
    return 4 * max(stages, (p["WARPS_K"] - 1) * p["BM"] * p["BN"])


def grid_of(point, size):
    p = params_of(point)
    return (size // p["BM"]) * (size // p["BN"]), p["SPLIT_K"], 1


def read_sweep(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def space_for(size):
    """The points, sorted. The recording's STREAM_K was a setting that today's kernel has no more."""
    entries = read_sweep(SWEEPS / "h100_warp_tiled_1024x1024x1024.json.gz")["cache"].values()
    points = {tuple(entry[name] for name in SEARCHED) for entry in entries if entry["STREAM_K"] == 0}

    def counters(point):
        tiles, shares, _ = grid_of(point, size)
        return tiles * (shares + 1) if shares > 1 else 0

    return sorted(point for point in points if counters(point) <= COUNTERS)


def kernel_text():
    text = (ROOT / KERNEL).read_text()
    entry = "gemm(const KernelArgs all) {"
    if text.count(entry) != 1:
        fail(f"{KERNEL} is not as this script knows it: no '{entry}'")
    members = ", ".join(f"{of_type} member{i}" for i, of_type in enumerate(MEMBER_TYPES))
    values = ", ".join(f"member{i}" for i in range(len(MEMBER_TYPES)))
    return text.replace(entry, f"gemm({members}) {{\n  const KernelArgs all = {{{values}}};")


# Kernel Tuner's side, in a process of its own: a fault there ends one search only.


class Missing:
    """Lets no import find torch and cupy: Kernel Tuner takes them where it can, which is slow and not needed here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("torch", "cupy"):
            raise ModuleNotFoundError(name)


def launch_observer():
    """Tells Kernel Tuner's CUDA backend what its interface cannot."""
    from cuda.bindings import driver
    from kernel_tuner.observers.observer import BenchmarkObserver

    class Launch(BenchmarkObserver):
        point = None

        def register_device(self, dev):
            super().register_device(dev)
            compile_kernel, run_kernel = dev.compile, dev.run_kernel

            def compile_and_allow(instance):
                self.point = tuple(instance.params[name] for name in SEARCHED)
                kernel = compile_kernel(instance)
                attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                if driver.cuFuncSetAttribute(kernel, attribute, smem_bytes(self.point))[0].value != 0:
                    raise RuntimeError("uses too much shared data")  # by these words it knows what to skip
                return kernel

            def run(kernel, arguments, threads, grid, stream=None):
                run_kernel(kernel, arguments, (threads_of(self.point), 1, 1), grid, stream)

            dev.compile, dev.run_kernel = compile_and_allow, run

        def get_results(self):
            return {}

    return Launch()


def prepare_kernel_tuner(strategy, out, seed):
    sys.meta_path.insert(0, Missing)
    os.chdir(out.parent)  # where Kernel Tuner leaves the text of a kernel that fails
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # no search is to profit from what another one compiled
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):  # else done, and timed, in the search
        importlib.import_module(f"kernel_tuner.strategies.{strategy}")
    seed_both(seed)


def seed_both(seed):
    import numpy

    random.seed(seed)
    numpy.random.seed(seed)


def kernel_tuner_search(strategy, points, size, evaluations, seconds, seed, out):
    prepare_kernel_tuner(strategy, out, seed)
    import numpy
    from constraint import FunctionConstraint
    from kernel_tuner import tune_kernel

    draw = numpy.random.default_rng(1)
    a, b = (draw.random((size, size), numpy.float32) - numpy.float32(0.5) for _ in range(2))
    c = a @ b
    most_shares = max(point[-1] for point in points)
    arguments = [*map(numpy.int32, (size, size, size, 0)), numpy.float32(1), numpy.float32(0), a, b,
                 numpy.zeros_like(c), *[numpy.int64(size)] * 3, *[numpy.int64(0)] * 3,
                 numpy.zeros(COUNTERS, numpy.int32), numpy.zeros(most_shares * size * size, numpy.float32)]
    launch, allowed = launch_observer(), set(points)
    trace, wrong, seen = [], set(), set()  # trace: of the distinct points that were timed
    start = time.perf_counter()

    def note(result):
        point = tuple(result[name] for name in SEARCHED)
        if point not in seen and point not in wrong:
            seen.add(point)
            trace.append({"config": config_text(point), "time_us": 1000 * float(result["time"]),
                          "seconds": time.perf_counter() - start})
            if len(trace) % 10 == 0:
                say(f"  {strategy}: {len(trace)} timed in {trace[-1]['seconds']:.0f} s, the best "
                    f"{min(one['time_us'] for one in trace):.2f} us")
        return len(trace)

    def verify(answer, result, atol):
        if not numpy.allclose(result[8], c, rtol=1e-4, atol=1e-3):
            wrong.add(launch.point)
        return True  # Kernel Tuner would end the search

    stopped, results = "", []
    try:
        results, _ = tune_kernel(
            "gemm_tune::warp_tiled::gemm", kernel_text(), lambda params: grid_of([params[n] for n in SEARCHED], size),
            arguments, {name: sorted(set(values)) for name, values in zip(SEARCHED, zip(*points))},
            grid_div_x=[], grid_div_y=[], grid_div_z=[], lang="NVCUDA", quiet=True, verify=verify,
            answer=[None] * 8 + [c] + [None] * 8, restrictions=[FunctionConstraint(lambda *point: point in allowed)],
            compiler_options=[f"-I{ROOT}", "--std=c++20", "-default-device"], observers=[launch],
            defines={"TUNED_PARAMS": lambda params: tuned_params([params[name] for name in SEARCHED]), "TUNED_CLUSTER": "1",
                     "TUNED_FORM": "{.IN_PLACE=1}"},
            smem_args={"size": lambda params: smem_bytes([params[name] for name in SEARCHED])},
            metrics={"timed": note}, strategy=strategy, seed=seed,
            strategy_options={"max_fevals": evaluations, "time_limit": seconds})
    except Exception as error:  # what was timed counts all the same
        stopped = f"{type(error).__name__}: {error}"
    found = {"evaluations": len(results) or len(trace), "timed": len(trace), "seconds": time.perf_counter() - start,
             "stopped": stopped, "wrong": sorted(map(config_text, wrong)), "trace": trace}
    out.write_text(json.dumps(found))


def kernel_tuner_replay(strategy, sweep_file, evaluations, repeats, seed, out):
    sweep = json.loads(sweep_file.read_text())
    prepare_kernel_tuner(strategy, out, seed)
    from constraint import FunctionConstraint
    from kernel_tuner import tune_kernel

    names, entries = sweep["tune_params_keys"], sweep["cache"].values()
    allowed = {tuple(entry[name] for name in names) for entry in entries}
    best = min(entry["time"] for entry in entries)
    ratios = []  # of each run: the optimum's time over that of the best after each evaluation
    for repeat in range(repeats):
        seed_both(seed + repeat)
        with contextlib.redirect_stdout(io.StringIO()):
            results, _ = tune_kernel(
                sweep["kernel_name"], "", (1,), [], sweep["tune_params"], lang="CUDA", quiet=True,
                restrictions=[FunctionConstraint(lambda *point: point in allowed)], simulation_mode=True,
                cache=str(sweep_file), strategy=strategy, seed=seed + repeat,
                strategy_options={"max_fevals": evaluations})
        times = {tuple(result[name] for name in names): result["time"] for result in results}  # in order, each once
        found, so_far = [], math.inf
        for time_ms in times.values():
            so_far = min(so_far, time_ms)
            found.append(best / so_far)
        ratios.append(found)
    out.write_text(json.dumps(ratios))


def in_child(out, limit, target, *arguments):
    """What target(*arguments, out) wrote, or why it wrote nothing."""
    out.unlink(missing_ok=True)
    child = multiprocessing.get_context("spawn").Process(target=target, args=(*arguments, out))
    child.start()
    child.join(limit)
    late = child.is_alive()
    if late:
        child.kill()
        child.join()
    if out.is_file() and not late:
        return json.loads(out.read_text()), ""
    return None, f"not done after {limit} s" if late else f"its process ended with {child.exitcode}"


def run_kernel_tuner(strategy, points, arguments):
    limit = arguments.seconds + 45  # beside the search: imports, and the last evaluation
    found, why = in_child(arguments.out / f"kernel_tuner_{strategy}.json", limit, kernel_tuner_search, strategy, points,
                          arguments.size, arguments.evaluations, arguments.seconds, arguments.seed)
    return found or {"trace": [], "stopped": why}


# Ours.


def gemm_tune(arguments, db, *options):
    program = arguments.bin / "gemm-tune"
    db.unlink(missing_ok=True)
    done = subprocess.run([program, "--require-gpu", "-q", "--json", "--db", db, "--kernel-dir", ROOT,
                           "--sizes", str(arguments.size), "--seed", str(arguments.seed), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        [problem] = json.loads(done.stdout)["problems"]
        return problem if problem["winner"] else None
    except (ValueError, KeyError):
        print(done.stderr, file=sys.stderr, end="")
        return None


def search_options(arguments, space_file):
    """How gemm-tune is asked to search."""
    program = arguments.bin / "gemm-tune"
    usage = "".join(subprocess.run([program, "tune", option], capture_output=True, text=True).stdout
                    for option in ("--help", "--help-all"))  # earlier versions have all in the first
    chosen = ["--strategy", "model"] if "--strategy" in usage else []
    where = [] if arguments.whole_space else ["--config", f"@{space_file}"]
    minutes, seconds = divmod(arguments.seconds, 60)
    return [*chosen, "--budget", str(arguments.evaluations), "--time", f"{minutes}:{seconds:02}", *where]


def run_ours(arguments, space_file):
    start = time.perf_counter()
    problem = gemm_tune(arguments, arguments.out / "ours.db", *search_options(arguments, space_file))
    seconds = time.perf_counter() - start
    if problem is None:
        return {"trace": [], "stopped": "gemm-tune gave no result"}
    winner = problem["winner"]
    funnel = problem["funnel"]
    return {"evaluations": funnel["tried"], "timed": funnel["survived"], "seconds": seconds, "stopped": "",
            "device": problem["device"], "funnel": funnel,
            "trace": [{"config": winner["config"], "time_us": winner["time_us"], "seconds": seconds}]}


def time_again(arguments, configs):
    """Microseconds by config text, all of one run's finals, and cublasSgemm's."""
    listed = arguments.out / "finals.txt"
    listed.write_text("\n".join(configs) + "\n")
    db = arguments.out / "finals.db"
    problem = gemm_tune(arguments, db, "--config", f"@{listed}", "--budget", "all")
    if problem is None:
        return {}, None
    with sqlite3.connect(db) as connection:
        times = dict(connection.execute("SELECT config, median_us FROM outcomes WHERE disposition = 'ok'"))
    baselines = problem["winner"]["baselines"]
    return times, baselines[0]["time_us"] if baselines else None


def replay_ours(arguments, sweep):
    """Mean and 10th percentile by evaluations, or None."""
    done = subprocess.run([arguments.bin / "gemm-tune-research", "replay", sweep, "--json", "--strategy", "model", "--repeats",
                           str(arguments.repeats), "--budget", str(arguments.evaluations), "--seed",
                           str(arguments.seed)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None
    [replay] = json.loads(done.stdout)
    return {one["evaluations"]: (one["mean"], one["tenth"]) for one in replay["ratios"]}


# The report.


def best_of(search):
    return min(search["trace"], key=lambda one: one["time_us"], default=None)


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(searches, times, cublas_us):
    fastest = min(times.values(), default=math.nan)
    lines = ["| search | evaluations | configs timed | seconds | its best, by its own timing, us | timed again, us "
             "| of the fastest | over cublasSgemm | config |", "|---" * 9 + "|"]
    for name, search in searches.items():
        best = best_of(search)
        again = times.get(best["config"]) if best else None
        lines.append("| " + " | ".join([
            name, str(search.get("evaluations", "-")), str(search.get("timed", "-")),
            number(search.get("seconds"), 1), number(best["time_us"] if best else None), number(again),
            number(fastest / again if again else None, 3),
            number(cublas_us / again if again and cublas_us else None, 3), best["config"] if best else "-"]) + " |")
    return lines


def spread(ratios, marks):
    """Mean and 10th percentile over the runs after so many evaluations each."""
    found = {}
    for mark in marks:
        values = sorted(run[min(mark, len(run)) - 1] for run in ratios)
        found[mark] = sum(values) / len(values), values[(len(values) - 1) // 10]
    return found


def recorded_table(scores, marks):
    """scores: search -> sweep -> mark -> (mean, 10th percentile), or None."""
    lines = ["| search | " + " | ".join(f"after {mark}" for mark in marks) + " |", "|---" * (len(marks) + 1) + "|"]
    for search, by_sweep in scores.items():
        cells = [search]
        for mark in marks:
            both = [found[mark] for found in by_sweep.values() if found]
            whole = both and len(both) == len(by_sweep)
            mean, tenth = (sum(part) / len(both) for part in zip(*both)) if whole else (None, None)
            cells.append(f"{number(mean, 3)} ({number(tenth, 3)})" if whole else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def parse_arguments():
    parser = argparse.ArgumentParser(description="gemm-tune beside Kernel Tuner.")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=75)
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole-space", action="store_true")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.bin / "gemm-tune").is_file():
        fail(f"'{arguments.bin}' holds no gemm-tune: name the folder of the built program")
    if not arguments.out.is_dir():
        fail(f"'{arguments.out}' is no folder")
    if arguments.size < 256 or arguments.size % 256 != 0:
        fail(f"size {arguments.size} is no multiple of 256, and the kernels of the space are not predicated")
    if arguments.evaluations < 1 or arguments.seconds < 1 or arguments.repeats < 1:
        fail("--evaluations, --seconds and --repeats are numbers from 1 on")
    arguments.bin, arguments.out = arguments.bin.resolve(), arguments.out.resolve()
    return arguments


def check_packages(*packages):
    for module, package in packages:
        try:
            found = importlib.util.find_spec(module)
        except ImportError:  # of the package that a dotted name is in
            found = None
        if found is None:
            fail(f"Python's {module} is missing: pip install {package}")


def check_gpu():
    try:
        code = ctypes.CDLL("libcuda.so.1").cuInit(0)
    except OSError:
        fail("there is no NVIDIA driver here (libcuda.so.1), and this needs a GPU")
    if code != 0:
        fail(f"there is no usable GPU here: cuInit gives error {code}")


def compare_recorded(arguments, version):
    sweeps = sorted(SWEEPS.glob("*.json.gz"))
    marks, scores = [], {}
    say(f"{len(sweeps)} sweeps, {arguments.repeats} runs of each, {arguments.evaluations} evaluations")
    for packed in sweeps:
        path = arguments.out / packed.stem
        sweep = read_sweep(packed)
        sweep["cache"] = {key: one for key, one in sweep["cache"].items() if not isinstance(one["time"], str)}
        path.write_text(json.dumps(sweep | {"problem_size": [1]}))
        ours = replay_ours(arguments, path)
        marks = marks or list(ours or {})
        scores.setdefault("gemm-tune, no prior", {})[path.stem] = ours
        say(f"{path.stem}, {len(sweep['cache'])} configs: gemm-tune {recorded_line(ours)}")
        for strategy in arguments.strategies.split(","):
            ratios, why = in_child(arguments.out / f"recorded_{strategy}.json", arguments.seconds, kernel_tuner_replay,
                                   strategy, path, arguments.evaluations, arguments.repeats, arguments.seed)
            found = spread(ratios, marks) if ratios else None
            scores.setdefault(f"Kernel Tuner {version}, {strategy}", {})[path.stem] = found
            say(f"{path.stem}: {strategy} {recorded_line(found) if found else why}")
        (arguments.out / "against_kernel_tuner_recorded.json").write_text(json.dumps(scores, indent=1) + "\n")
    say("\n".join(["", *recorded_table(scores, marks)]))
    return all(all(by_sweep.values()) for by_sweep in scores.values())


def recorded_line(found):
    return ", ".join(f"{mean:.3f} ({tenth:.3f}) after {mark}" for mark, (mean, tenth) in (found or {}).items())


def compare_on_gpu(arguments, version):
    points = space_for(arguments.size)
    space_file = arguments.out / "space.txt"
    space_file.write_text("\n".join(map(config_text, points)) + "\n")
    report = {"size": arguments.size, "kernel_tuner": version, "configs": len(points), "seed": arguments.seed,
              "whole_space": arguments.whole_space, "searches": {}}
    searches = report["searches"]

    def keep():  # at once, for a run that is cut off
        (arguments.out / "against_kernel_tuner.json").write_text(json.dumps(report, indent=1) + "\n")

    say(f"{arguments.size}x{arguments.size}x{arguments.size}, {len(points):,} configs of warp_tiled, "
        f"{arguments.evaluations} evaluations, {arguments.seconds} s at most for each search")
    runs = [("gemm-tune", lambda: run_ours(arguments, space_file))]
    for strategy in arguments.strategies.split(","):
        runs.append((f"Kernel Tuner {version}, {strategy}",
                     lambda strategy=strategy: run_kernel_tuner(strategy, points, arguments)))
    for name, run in runs:
        searches[name] = search = run()
        best = best_of(search)
        if best:
            say(f"{name}: {search['evaluations']} evaluations in {search['seconds']:.1f} s, {best['time_us']:.2f} us")
        if search["stopped"]:
            say(f"{name} was stopped: {search['stopped']}")
        if search.get("wrong"):
            say(f"{name}: {len(search['wrong'])} configs gave wrong results and do not count")
        keep()
    tried = searches["gemm-tune"].get("evaluations", 0)
    if tried > arguments.evaluations:
        say(f"Note: this gemm-tune tried {tried} configs, not {arguments.evaluations}.")

    configs = sorted({best_of(search)["config"] for search in searches.values() if search["trace"]})
    times, cublas_us = time_again(arguments, configs) if configs else ({}, None)
    report |= {"times_us": times, "cublas_us": cublas_us}
    keep()
    say(f"\n{searches['gemm-tune'].get('device', 'GPU')}, cublasSgemm {number(cublas_us)} us\n")
    say("\n".join(table(searches, times, cublas_us)))
    return all(search["trace"] for search in searches.values()) and len(times) == len(configs)


def main():
    arguments = parse_arguments()
    check_packages(("numpy", "numpy"), ("kernel_tuner", "kernel_tuner"))
    version = importlib.metadata.version("kernel_tuner")
    if arguments.recorded:
        sys.exit(0 if compare_recorded(arguments, version) else 1)
    check_packages(("cuda.bindings", "cuda-python"))
    check_gpu()
    sys.exit(0 if compare_on_gpu(arguments, version) else 1)


if __name__ == "__main__":
    main()
