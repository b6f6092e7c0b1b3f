#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/drop_in/programs.py with a program and a gemm-tune that only print, without PyTorch and without a GPU."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "drop_in"))
import programs  # noqa: E402

PROGRAM = """
import json, os
served = "SERVED" in os.environ
print(json.dumps({"program": "mlp_step", "dtype": "fp32", "library": "none", "gpu": "none", "bound": 1e-4,
                  "ms": {"step": 2.0 if served else 3.0}, "digest": [1.0, DIGEST if served else 2.0]}))
"""
GEMM_TUNE = """#!/bin/sh
verb=$1
while [ "$1" != -- ]; do
  case $1 in --report) report=$2;; --db) db=$2;; esac
  shift
done
shift
case $db in */no-winners.db) us=20;; *) us=12; export SERVED=1;; esac
if [ $verb = speed-up ]; then echo "not JSON"; EXIT; fi
if [ -n "$report" ]; then echo '{"function": "cublasSgemm", "m": 8, "n": 9, "k": 7, "batch": 1, "op_a": "N", "op_b": "T",
 "type_a": "f32", "type_b": "f32", "type_c": "f32", "epilogue": "none", "alignments": [16, 16, 16], "served": 3, "declined": {},
 "timed": 2, "gpu_us": '$us', "expected_us": 5, "cublas_us": 11}' | tr -d '\\n' > $report; fi
exec "$@"
"""


def shape(m, us, timed=1, served=1, **fields):
    return {"function": "cublasSgemm", "m": m, "n": 1, "k": 1, "batch": 1, "op_a": "N", "op_b": "N", "type_a": "f32",
            "epilogue": "none", "alignments": [4, 4, 4], "served": served, "declined": {}, "timed": timed, "gpu_us": us, **fields}


class ProgramsTest(unittest.TestCase):
    def run_with(self, digest, ending):
        """(exit code, what was printed)"""
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            (at / "programs").mkdir()
            (at / "programs" / "mlp_step.py").write_text(PROGRAM.replace("DIGEST", str(digest)))
            (at / "gemm-tune").write_text(GEMM_TUNE.replace("EXIT", ending))
            (at / "gemm-tune").chmod(0o755)
            text = io.StringIO()
            with contextlib.redirect_stdout(text), self.assertRaises(SystemExit) as ended, \
                    unittest.mock.patch.object(programs, "__file__", str(at / "programs.py")), \
                    unittest.mock.patch.object(sys, "argv", ["", "--programs", "mlp_step:fp32", folder, str(at / "out")]):
                programs.main()
            return ended.exception.code, text.getvalue()

    def test_says_times_served_calls_and_products_in_the_program(self):
        code, text = self.run_with(2.0, ":")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"mlp_step:fp32 +step +3\.000 +2\.000 +1\.500")
        self.assertIn("results differ by 0.0e+00 served", text)
        self.assertIn("with winners: served 3 of 3 calls, 100.0 % of their operations", text)
        self.assertRegex(text, r"10\.0 +6\.0 +11\.0 +5\.0 +3  cublasSgemm 9x8x7:layout=tn f32 none 16/16/16")

    def test_results_beyond_the_bound_are_wrong(self):
        code, text = self.run_with(2.1, ":")
        self.assertEqual(code, 1)
        self.assertIn("wrong: mlp_step:fp32: results differ by 5.0e-02", text)

    def test_a_command_that_fails_leaves_what_was_counted(self):
        code, text = self.run_with(2.0, "exit 4")
        self.assertEqual(code, 1)
        self.assertRegex(text, r"gemm-tune speed-up .* exited with 4: see .*mlp_step-fp32\.log")
        self.assertIn("without winners: served 3 of 3 calls", text)

    def test_results_that_are_no_numbers_differ(self):
        self.assertEqual(programs.difference([1.0, float("nan")], [1.0, 2.0]), float("inf"))
        self.assertEqual(programs.difference([1.0], [1.0, 2.0]), float("inf"))
        self.assertEqual(programs.difference([1.0, 4.0], [2.0, 4.0]), 0.25)

    def test_the_product_that_costs_most_served_comes_first(self):
        before = [shape(1, 10), shape(2, 40, timed=4), shape(3, 5)]
        served = [shape(1, 9), shape(2, 11), shape(3, 50, served=0, declined={"cuBLAS was faster": 1}), shape(4, 1)]
        rows = programs.products_in_context(before, served)
        self.assertEqual([text.split()[-4] for _, text in rows], ["1x2x1:layout=nn", "1x1x1:layout=nn"])


if __name__ == "__main__":
    unittest.main()
