#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/results/compare.py with a program in gemm-tune's place that answers from a list."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Notes its arguments and answers for the shape: [ours, sgemm, lt, autotuned] hot and cold, or nothing and fails.
# Without the last, cuBLAS refuses to autotune.
FAKE = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
with open(folder / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
at = {{name: sys.argv[sys.argv.index(name) + 1] for name in ("--sizes", "--layout", "--batch") if name in sys.argv}}
hot, cold = json.loads((folder / "answers").read_text()).get(" ".join(at.values()), (None, None))
if hot is None:
    print(json.dumps({{"problems": [{{"winner": None}}]}}))
    sys.exit(4)
names = ["cublasSgemm 13.1.0", "cublasLt 13.1.0 (best of 9 heuristics)", "cublasGemmEx-autotuned 13.1.0"]
absent = [] if len(hot) == 4 else ["cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED"]
baselines = [{{"name": name, "time_us": h, "cold_us": c, "error_ratio": 1.95}}
             for name, h, c in zip(names, hot[1:], cold[1:])]
winner = {{"config": "warp/BM=8", "time_us": hot[0], "cold_us": cold[0], "baselines": baselines}}
print(json.dumps({{"problems": [{{"winner": winner, "device": "NVIDIA H100", "seconds": 1.0, "funnel": {{"tried": 7}},
                                "absent_baselines": absent}}]}}))
"""


class CompareTest(FolderTest):
    def setUp(self):
        super().setUp()
        program = self.folder / "gemm-tune"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)

    def compare(self, answers, *arguments):
        (self.folder / "answers").write_text(json.dumps(answers))
        return subprocess.run([sys.executable, ROOT / "bench/results/compare.py", *arguments], capture_output=True, text=True)

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_speeds_ratios_means_losses_and_goals_are_shown(self):
        # 2 * 1024^3 FLOP in 40, 50, 60 us: 53.7, 42.9 and 35.8 TFLOP/s. Means: sqrt(1.25 * 0.9), sqrt(1.25 * 0.8).
        run = self.compare({"1024x1024x1024": [[40, 50, 60, 44], [50, 60, 40, 25]],
                            "64x64x64": [[2, 1.8, 1.6], [None, None, None]]},
                           self.folder, self.folder, "1024x1024x1024", "64x64x64")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertEqual(lines[0], "NVIDIA H100; the last shape's baselines: cublasSgemm 13.1.0, "
                                   "cublasLt 13.1.0 (best of 9 heuristics)")
        self.assertIn("| 1024x1024x1024 | 42.9 | 35.8 | 48.8 | 53.7 | 1.250 | 1.250 | 1.100 | 35.8 | 53.7 | 85.9 | 42.9 | "
                      "1.200 | 0.800 | 0.500 | 1.950 | 7 | warp/BM=8 |", lines)
        self.assertIn("| 64x64x64 | 0.291 | 0.328 | - | 0.262 | 0.900 | 0.800 | - | - | - | - | - | - | - | - | 1.950 | 7 | "
                      "warp/BM=8 |", lines)
        self.assertIn("| geometric mean |  |  |  |  | 1.061 | 1.000 | 1.100 |  |  |  |  | 1.200 | 0.800 | 0.500 |  |  |  |",
                      lines)
        self.assertEqual(lines[-2:], ["Without the baseline:",
                                      "cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED"])
        behind = lines.index("Behind the better of both:")
        self.assertEqual(lines[behind + 1:behind + 4],
                         ["64x64x64 hot: 0.800 of cublasLt", "1024x1024x1024 cold: 0.800 of cublasLt", ""])
        goals = lines[lines.index("Goals:") + 1:]
        self.assertEqual(goals[:3],
                         ["geometric mean over cublasSgemm, 2 shapes, at least 1.20: 1.061, MISSED (cold 1.200)",
                          "geometric mean over the better of both, 2 shapes, at least 1.12: 1.000, MISSED (cold 0.800)",
                          "every shape over cublasSgemm at least 0.98: 0.900, MISSED (cold 1.200)"])
        self.assertIn("1024x1024x1024 over cublasSgemm at least 1.10: 1.250, met (cold 1.200)", goals)
        self.assertIn("16x4096x4096 over cublasSgemm at least 2.50: not run (cold -)", goals)
        stored = json.loads((self.folder / "compare.json").read_text())
        self.assertEqual(stored["rows"][0]["hot"], {"ours": 40, "sgemm": 50, "lt": 60, "auto": 44})

    def test_layouts_and_batches_are_asked_for(self):
        self.compare({}, "--budget", "9", "--time", "1:00", "--device", "1", self.folder, self.folder,
                     "8x16x32:layout=nt", "8x16x32:layout=tt:batch=64")
        common = (f"--require-gpu -q --json --db {self.folder}/compare.db --baselines "
                  "cublas,cublaslt,cublas-autotuned --no-kernel-cache --device 1 --budget 9 --time 1:00 --sizes 8x16x32 ")
        self.assertEqual(self.calls(), [common + "--layout nt", common + "--layout tt --batch 64"])

    def test_of_a_given_database_only_the_finals_are_held_again(self):
        db = self.folder / "earlier.db"
        db.touch()
        self.compare({}, "--db", db, self.folder, self.folder, "8x8x8")
        self.compare({}, "--db", db, "--budget", "50", self.folder, self.folder, "8x8x8")
        common = f"--require-gpu -q --json --db {db} --baselines cublas,cublaslt,cublas-autotuned --no-kernel-cache "
        self.assertEqual(self.calls(), [common + "--budget 1 --finals --sizes 8x8x8",
                                        common + "--budget 50 --finals --sizes 8x8x8"])

    def test_a_shape_without_a_result_is_named_and_the_others_go_on(self):
        run = self.compare({"16x16x16": [[1, 1, 1], [1, 1, 1]]}, self.folder, self.folder, "8x8x8", "16x16x16")
        self.assertEqual(run.returncode, 1)
        self.assertIn("Without a result: 8x8x8", run.stdout)
        self.assertIn("| 16x16x16 |", run.stdout)
        self.assertIn("Behind the better of both:\nnowhere\n", run.stdout)

    def test_the_list_is_the_issues(self):
        run = self.compare({}, self.folder, self.folder)
        self.assertEqual(run.returncode, 1)
        calls = [call.split("--sizes ")[1] for call in self.calls()]
        self.assertEqual(len(calls), 23)
        self.assertEqual(len(set(calls)), 23)
        self.assertEqual(calls[-5:], ["384x384x384", "4096x4096x4096 --layout nt", "4096x4096x4096 --layout tn",
                                      "4096x4096x4096 --layout tt", "128x128x128 --batch 64"])

    def test_what_is_no_shape_or_folder_is_refused(self):
        for arguments, word in [((self.folder, self.folder, "8x8"), "8x8"),
                                ((self.folder, self.folder, "8x8x8:layout=xx"), "layout=xx"),
                                ((self.folder, self.folder / "none"), "none"),
                                (("--db", self.folder / "no.db", self.folder, self.folder), "no.db")]:
            run = self.compare({}, *arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn(word, run.stderr)
        self.assertFalse((self.folder / "calls").exists())


if __name__ == "__main__":
    unittest.main()
