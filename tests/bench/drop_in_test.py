#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what bench/drop_in.py makes of a report, without PyTorch and without a GPU."""
import contextlib
import io
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import drop_in  # noqa: E402


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


if __name__ == "__main__":
    unittest.main()
