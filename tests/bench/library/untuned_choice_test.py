#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/library/untuned_choice.py with a program in gemm-tune's place that tunes by a rule."""
import contextlib
import io
import itertools
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "bench/library/untuned_choice.py"
sys.path.insert(0, str(SCRIPT.parent))
import untuned_choice  # noqa: E402

# `best` chooses what the file `choice` names from tuned.db, "warp/FAR=1", and what the file `best` names from search.db,
# "warp/BEST=1"; the first takes 10 us, the second the number in `best_us`, cublasSgemm 9.9 us and cublasLt 8 us. Where there
# is a file `slow`, searches wait to be interrupted.
FAKE = """#!{python}
import json, pathlib, signal, sqlite3, sys, time
folder = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
best_us = float((folder / "best_us").read_text())
baselines = [{{"name": "cublasSgemm 13.1.0", "time_us": 9.9}},
             {{"name": "cublasLt 13.1.0 (best of 9 heuristics)", "time_us": 8.0}}]
at = {{name: arguments[i + 1] for i, name in enumerate(arguments[:-1]) if name.startswith("--")}}
with open(folder / "calls", "a") as calls:
    calls.write(" ".join(arguments) + "\\n")
db = pathlib.Path(at["--db"])
shapes = pathlib.Path(at["--sizes"][1:]).read_text().split() if at["--sizes"][0] == "@" else [at["--sizes"]]
if arguments[0] == "best":
    chosen = (folder / ("best" if db.name == "search.db" else "choice")).read_text()
    served = {{"config": chosen, "match": "nearest"}} if chosen else {{"config": "cublas/WORKSPACE=1", "match": "nearest"}}
    if db.name == "search.db":
        served |= {{"time_us": best_us, "baselines": baselines}}
    print(json.dumps([{{"problem": shape, **served}} for shape in shapes]))
    sys.exit(0 if chosen else 4)
elif "--config" not in arguments:
    if (folder / "slow").exists() and db.name == "search.db":
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            sys.exit(130)
    if (folder / "broken").exists():
        sys.exit(5)
    db.touch()
else:
    configs = [arguments[i + 1] for i, name in enumerate(arguments) if name == "--config"]
    file = sqlite3.connect(db)
    file.execute("CREATE TABLE outcomes (config, median_us, disposition, reason)")
    file.execute("CREATE TABLE runs (driver_version, cuda_version)")
    file.execute("INSERT INTO runs VALUES ('580.1', '13.0')")
    file.execute("CREATE TABLE baselines (library_version)")
    file.execute("INSERT INTO baselines VALUES ('13.1.0')")
    for config in configs:
        if "SPILLS" in config:
            file.execute("INSERT INTO outcomes VALUES (?, NULL, 'rejected', 'registers spill')", (config,))
        else:
            file.execute("INSERT INTO outcomes VALUES (?, ?, 'ok', NULL)", (config, best_us if "BEST" in config else 10.0))
    file.commit()
    winner = {{"config": configs[-1], "time_us": best_us, "baselines": baselines}}
    print(json.dumps({{"problems": [{{"problem": shapes[0], "device": "NVIDIA H100", "winner": winner}}]}}))
"""

class UntunedChoiceTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        program = self.folder / "gemm-tune"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)
        self.set(choice="warp/FAR=1", best="warp/BEST=1", best_us="9.8")

    def test_no_problem_that_the_tuned_database_holds_is_judged(self):
        held = self.rows(self.judge())[0][0]
        self.state, ships = self.folder / "other", self.folder / "ships.db"
        with contextlib.closing(sqlite3.connect(ships)) as file:
            file.execute("CREATE TABLE winners AS SELECT ? AS problem", (held,))
            file.commit()
        run = self.judge("--tuned", str(ships))
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(len(self.rows(run)), 4)
        self.assertNotIn(held, [row[0] for row in self.rows(run)])
        ships.write_text("not a database")
        run = self.judge("--tuned", str(ships))
        self.assertEqual((run.returncode, run.stdout), (3, ""), run)
        self.assertIn("ships.db' cannot be read: ", run.stderr)

    def test_a_library_that_is_best_counts_by_the_better_baseline(self):
        self.set(best="cublaslt/ALGO=1", best_us="8.1")
        run = self.judge()
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(self.rows(run)[0][1:5], ["nearest", "10", "8", "0.800"])
        self.assertFalse([call for call in self.calls() if "--config cublaslt" in call])

    def set(self, **texts):
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def judge(self, *options, shapes="4"):
        return subprocess.run([sys.executable, SCRIPT, "--shapes", shapes, *options, self.folder,
                               self.state], capture_output=True, text=True)

    def judge_until_the_search(self, shapes="4"):
        """Exit code and errors of a call whose time is up once the searches are under way: by the readings of its clock, of which
        the first is the start, and each call of gemm-tune has two."""
        readings, errors = itertools.count(1), io.StringIO()
        arguments = ["untuned_choice.py", "--seconds", "100", "--shapes", shapes, str(self.folder), str(self.state)]
        with (unittest.mock.patch.object(untuned_choice.time, "monotonic", lambda: 0 if next(readings) < 5 else 100),
              unittest.mock.patch.object(sys, "argv", arguments), contextlib.redirect_stderr(errors),
              self.assertRaises(SystemExit) as ended):
            untuned_choice.main()
        return ended.exception.code, errors.getvalue()

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def rows(self, run):
        return [line.strip("| ").split(" | ") for line in run.stdout.splitlines() if re.match(r"\| \d", line)]

    def test_the_choice_is_judged_beside_the_best_and_both_baselines(self):
        run = self.judge()
        self.assertEqual((run.returncode, run.stdout.splitlines()[0]),
                         (0, "NVIDIA H100, driver 580.1, CUDA 13.0, cuBLAS 13.1.0"), run)
        rows = self.rows(run)
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertEqual(row[1:], ["nearest", "10", "9.8", "0.980", "0.990", "0.800", "warp/FAR=1", "warp/BEST=1"])
        self.assertEqual(run.stdout.splitlines()[-3:],
                         ["of the best: mean 0.980, worst 0.980, 0 below .98; goals 0.95 and 0.85: met",
                          "over cublasSgemm: mean 0.990, worst 0.990, 0 below .98; goal 0.98 at each: met",
                          "over cublasLt: mean 0.800, worst 0.800, 4 below .98"])

    def test_the_problems_are_distinct_within_their_bounds_and_partly_unaligned(self):
        self.set(slow="")  # the list is enough
        self.assertEqual(self.judge_until_the_search(shapes="64")[0], 5)
        shapes = (self.state / "search.txt").read_text().split()
        self.assertEqual((len(shapes), len(set(shapes))), (64, 64))
        sizes = [list(map(int, shape.split(":")[0].split("x"))) for shape in shapes]
        self.assertTrue(all(64 <= size <= 8192 for three in sizes for size in three))
        self.assertEqual(sum(all(size % 8 == 0 for size in three) for three in sizes[0:4]), 4)
        self.assertGreater(sum(any(size % 4 for size in three) for three in sizes), 24)
        for layout in ("nt", "tn", "tt"):
            self.assertEqual(sum(shape.endswith(f":layout={layout}") for shape in shapes), 16)
        tuned = (self.state / "tune.txt").read_text().split()
        self.assertEqual(len(tuned), 12)
        self.assertFalse(set(tuned) & set(shapes))

    def test_an_unfinished_job_goes_on_and_repeats_nothing(self):
        self.set(slow="")
        code, errors = self.judge_until_the_search()
        self.assertEqual(code, 5, errors)
        self.assertIn("not finished", errors)
        (self.folder / "slow").unlink()
        self.assertEqual(self.judge().returncode, 0)
        tuning = [call for call in self.calls() if "tune.txt" in call]
        self.assertEqual((len(tuning), sum("--config" in call for call in self.calls())), (1, 4))
        self.assertEqual(self.judge().returncode, 0)
        self.assertEqual(sum("--config" in call for call in self.calls()), 4)

    def test_another_choice_is_judged_again_and_cublas_by_the_times_of_the_search(self):
        self.judge()
        self.set(choice="")
        row = self.rows(self.judge())[0]
        self.assertEqual(row[1:], ["nearest", "9.9", "9.8", "0.990", "1.000", "0.808", "cuBLAS", "warp/BEST=1"])
        self.assertEqual(sum("--config" in call for call in self.calls()), 4)
        self.set(choice="warp/NEAR=1")
        self.assertEqual(self.judge().returncode, 0)
        self.assertEqual(sum("--config" in call for call in self.calls()), 8)

    def test_a_choice_that_cannot_be_timed_counts_as_nothing(self):
        self.set(choice="warp/SPILLS=1")
        run = self.judge("--require", shapes="2")
        self.assertEqual(run.returncode, 1, run)
        for row in self.rows(run):
            self.assertEqual(row[1:7], ["nearest", "-", "9.8", "0.000", "0.000", "0.000"])
        self.assertEqual(run.stdout.count("which counts as a speed of 0: rejected: registers spill"), 2)

    def test_a_missed_goal_fails_only_on_demand(self):
        self.set(best_us="8.4")
        run = self.judge()
        self.assertEqual(run.returncode, 0)
        self.assertIn("of the best: mean 0.840, worst 0.840, 4 below .98; goals 0.95 and 0.85: MISSED", run.stdout)
        self.assertEqual(self.judge("--require").returncode, 1)

    def test_a_choice_faster_than_the_search_counts_as_the_best(self):
        self.set(best_us="12")
        self.assertEqual(self.rows(self.judge())[0][4], "1.000")

    def test_failures_and_other_options_for_the_same_folder_are_refused(self):
        self.set(broken="")
        run = self.judge()
        self.assertEqual(run.returncode, 3)
        self.assertIn("failed with exit code 5", run.stderr)
        (self.folder / "broken").unlink()
        self.assertEqual(self.judge().returncode, 0)
        run = self.judge("--seed", "2")
        self.assertEqual((run.returncode, run.stdout), (3, ""))
        self.assertIn("was begun with seed 1", run.stderr)
        self.assertEqual(self.judge("--budget", "0").returncode, 2)
        self.assertEqual(self.judge("--tuned", "none.db").returncode, 2)


if __name__ == "__main__":
    unittest.main()
