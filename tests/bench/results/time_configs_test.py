#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/results/time_configs.py with a program in gemm-tune's place that takes fixed times."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Configs take 10 us and cold 20 us, cublasSgemm 12 and 21 us, cublasLt 11 us. One named BAD is illegal.
FAKE = """#!{python}
import json, sys
arguments = sys.argv[1:]
at = {{name: arguments[i + 1] for i, name in enumerate(arguments[:-1]) if name.startswith("--")}}
if "BAD" in at["--config"]:
    print("config is illegal", file=sys.stderr)
    sys.exit(2)
baselines = [{{"name": "cublasSgemm 13.1.0", "time_us": 12.0, "cold_us": 21.0}}]
if "cublaslt" in at["--baselines"]:
    baselines.append({{"name": "cublasLt 13.1.0", "time_us": 11.0, "cold_us": None}})
winner = {{"config": at["--config"], "time_us": 10.0, "cold_us": 20.0, "baselines": baselines}}
print(json.dumps({{"problems": [{{"problem": at["--sizes"], "winner": winner}}]}}))
"""


class TimeConfigsTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.program = self.fake("gemm-tune", FAKE)

    def run_on(self, text, *options):
        (self.folder / "list.txt").write_text(text)
        return subprocess.run([sys.executable, ROOT / "bench/results/time_configs.py", *options, self.program, self.folder / "list.txt"],
                              capture_output=True, text=True)

    def test_each_config_stands_beside_the_baselines_hot_and_cold(self):
        done = self.run_on("# a comment\n8x8x8 one/A=1\n\n8x8x8 one/A=2  # another\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout,
                         "8x8x8 hot 10.000 cold 20.000 | cublasSgemm hot 1.200 cold 1.050 | cublasLt hot 1.100\n    one/A=1\n"
                         "8x8x8 hot 10.000 cold 20.000 | cublasSgemm hot 1.200 cold 1.050\n    one/A=2\n")

    def test_a_config_that_fails_says_why_and_costs_no_other(self):
        done = self.run_on("8x8x8 one/BAD=1\n8x8x8 one/A=1\n", "--json", self.folder / "rows.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("8x8x8 exit code 2: config is illegal\n    one/BAD=1\n8x8x8 hot 10.000", done.stdout)
        rows = json.loads((self.folder / "rows.json").read_text())
        self.assertEqual(["error" in row for row in rows], [True, False])
        self.assertEqual(rows[1]["time_us"], 10.0)

    def test_a_line_that_is_no_size_and_config_is_named(self):
        done = self.run_on("8x8x8\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("list.txt:1: '8x8x8' is no \"SIZE CONFIG\"", done.stderr)
        self.assertIn("no \"SIZE CONFIG\" in it", self.run_on("# nothing\n").stderr)


if __name__ == "__main__":
    unittest.main()
