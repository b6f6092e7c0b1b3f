#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what bench/drop_in/drop_in.py makes of a report, without PyTorch and without a GPU."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "drop_in"))
import drop_in  # noqa: E402
import drop_in_work  # noqa: E402


def shape(m, n, k, served=0, declined=None, **fields):
    return {"function": "cublasSgemm", "m": m, "n": n, "k": k, "batch": 1, "op_a": "N", "op_b": "N", "type_a": "f32",
            "type_b": "f32", "type_c": "f32", "served": served, "declined": declined or {}, **fields}


class DropInTest(unittest.TestCase):
    def test_a_column_major_product_is_the_row_major_one_with_the_operands_swapped(self):
        self.assertEqual(drop_in.problem_of(shape(3, 5, 7)), "5x3x7:layout=nn")
        self.assertEqual(drop_in.problem_of(shape(3, 5, 7, op_a="T")), "5x3x7:layout=nt")
        self.assertEqual(drop_in.problem_of(shape(3, 5, 7, op_b="C", batch=2)), "5x3x7:layout=tn:batch=2")

    def test_the_problems_with_the_most_work_come_first(self):
        report = [shape(10, 10, 10, 1, {"x": 2}), shape(20, 20, 20, 1), shape(10, 10, 10, 9, device=1),
                  shape(900, 900, 900, 1, type_a="f16", type_b="f16"), shape(0, 900, 900, 1)]
        self.assertEqual(drop_in.problems_of(report), ["10x10x10:layout=nn", "20x20x20:layout=nn"])

    def test_says_what_was_served_and_why_the_rest_was_not(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            served = drop_in.print_served([shape(10, 10, 10, 3, {"cuBLAS was faster": 1}),
                                           shape(20, 10, 10, 0, {"cuBLAS was faster": 2})])
        self.assertEqual(served, 3)
        self.assertEqual(text.getvalue(),
                         "served 3 of 6 calls, 37.5 % of their operations\n"
                         "  declined 3: cuBLAS was faster: cublasSgemm 10x20x10:layout=nn f32, "
                         "cublasSgemm 10x10x10:layout=nn f32\n")

    def test_the_parts_are_those_that_can_be_named(self):
        self.assertEqual(set(drop_in.PARTS), set(drop_in_work.PARTS))
        self.assertEqual(drop_in.parse(["--parts", "gp,calls", "a", "b", "c"]).parts, ["gp", "calls"])
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
            drop_in.parse(["--parts", "gp,gp2", "a", "b", "c"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("--parts has no gp2: name some of operations,", errors.getvalue())

    def test_counts_of_a_log_and_of_a_report_meet(self):
        log = drop_in.counts_of_log("# gemm-tune capture\n10x20x30  # 4 calls, 50.0 % of the operations\n"
                                    "8x8x8:layout=tn:batch=2  # 1 call, 1.0 % of the operations\n"
                                    "8x8x8:type=f16  # 9 calls, 1.0 % of the operations\n")
        report = drop_in.counts_of_report([
            shape(20, 10, 30, 3, alignment=4), shape(20, 10, 30, 0, {"x": 1}, alignment=16),
            shape(8, 8, 8, 2, op_b="T", batch=2), shape(20, 10, 30, 7, function="cublasLtMatmul"),
            shape(8, 8, 8, 7, type_a="f16")])
        self.assertEqual(log, {"10x20x30:layout=nn:batch=1": 4, "8x8x8:layout=tn:batch=2": 1})
        self.assertEqual(drop_in.differing_counts(log, report),
                         ["8x8x8:layout=tn:batch=2: 1 in cuBLAS's log, 2 seen by the drop-in"])

    def test_wrong_is_an_error_above_the_bound_and_twice_stocks_and_another_loss(self):
        def work(**part):
            return {"parts": {"x": part}}

        stock = work(errors={"mm": 8e-6, "bmm": 1e-7}, values={"a loss": 2.0, "samples": 3})
        fine = work(errors={"mm": 1.5e-5, "bmm": 9e-6}, values={"a loss": 2.001, "samples": 4})
        self.assertEqual(drop_in.wrong_results(stock, fine), [])
        bad = work(errors={"mm": 1.7e-5, "bmm": float("inf")}, values={"a loss": float("nan")}, wrong=["OpInfo x"])
        self.assertEqual(drop_in.wrong_results(stock, bad),
                         ["mm: error 1.70e-05, stock's 8.00e-06", "bmm: error inf, stock's 1.00e-07",
                          "a loss: nan, stock's 2.0", "OpInfo x"])

    def test_a_part_that_says_nothing_in_time_has_not_run(self):
        said = 'noise\n{"torch": "2", "gpu": "x"}\n{"part": "mlp", "times": {"step": 1.5}}\n'
        with unittest.mock.patch.object(drop_in, "run", return_value=said):
            done = drop_in.run_work(["mlp", "gp"], {}, 7)
        self.assertEqual(drop_in.all_of(done, "times"), {"step": 1.5})
        self.assertEqual(done["parts"]["gp"], {"not_run": "not done within 7 s"})

    def test_what_a_process_said_before_its_limit_is_kept(self):
        late = subprocess.TimeoutExpired(["work"], 7, output=b"early\n")
        with (unittest.mock.patch.object(drop_in.subprocess, "run", side_effect=late),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            self.assertEqual(drop_in.run(["work"], {}, 7), "early\n")
        self.assertIn("7 s", printed.getvalue())

    def tuned_by_a_program_that_exits_with(self, code):
        """What the script prints."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "gemm-tune"
            program.write_text(f"#!/bin/sh\nexit {code}\n")
            program.chmod(0o755)
            options = drop_in.parse(["--tuning-time", "0:30", folder, "library", folder])
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                drop_in.tune(options, ["8x8x8", "16x16x16"], "some.db")
            return printed.getvalue()

    def test_problems_that_the_time_left_untuned_end_nothing(self):
        self.assertEqual(self.tuned_by_a_program_that_exits_with(0), "tuning 2 problems\n")
        self.assertRegex(self.tuned_by_a_program_that_exits_with(4),
                         r"^tuning 2 problems\nsome problems have no tuned kernel: .*; the others go on\n$")
        with self.assertRaises(SystemExit) as ended:
            self.tuned_by_a_program_that_exits_with(3)
        self.assertRegex(str(ended.exception.code), r"gemm-tune --require-gpu .* exited with 3$")

    def test_a_first_call_that_compiles_is_in_no_time(self):
        now, calls = [0.0], []

        class Event:
            def __init__(self, enable_timing):
                pass

            def record(self):
                self.at = now[0]

            def elapsed_time(self, stop):
                return 1000 * (stop.at - self.at)

        def work():
            calls.append(5.0 if not calls else 0.3)  # seconds; the first compiles
            now[0] += calls[-1]

        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event, synchronize=lambda: None))
        with unittest.mock.patch.object(drop_in_work.time, "monotonic", lambda: now[0]):
            self.assertAlmostEqual(drop_in_work.Clock(torch, 0.1, once=False).median_ms(work), 300)
            self.assertEqual(calls, [5.0, 0.3])
            self.assertAlmostEqual(drop_in_work.Clock(torch, 60, once=False).median_ms(work), 300)
            self.assertEqual(len(calls), 2 + 31)
            self.assertIsNone(drop_in_work.Clock(torch, 60, once=True).median_ms(work))
            self.assertEqual(len(calls), 2 + 31 + 1)

    def test_kernels_are_told_apart_by_their_names(self):
        kernels = [("gemm", 5.0), ("repack", 1.0), ("ampere_sgemm_128x64_nn", 3.0), ("softmax_warp_forward", 9.0),
                   ("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nt_align1>", 2.0)]
        self.assertEqual(drop_in_work.time_of_kernels(kernels), (6.0, 5.0))


if __name__ == "__main__":
    unittest.main()
