#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/ that measure the library's calls, for a second or two each, on a GPU: every row is
there and no result is wrong. The times mean nothing here. usage: FOLDER of the programs, the program that writes a sample
database. Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import OnGpuTest, skip_without_gpu  # noqa: E402

FOLDER, MAKE_DATABASE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)


class ProgramsTest(OnGpuTest):
    programs, make_database = FOLDER, MAKE_DATABASE

    def test_host_cost_shows_each_way_for_each_number_of_threads(self):
        lines = self.run_program("host_cost", self.db, "--seconds", "1", "--threads", "1,2", "--size", "64x64x64")
        for threads in "12":
            for way in ("bare launch", "gt_sgemm", "gt_gemm", "cublasSgemm", "cublasGemmEx", "cuLaunchKernel"):
                self.assertEqual(sum(line.startswith(f"{threads:>7}  {way} ") for line in lines), 1, lines)
        self.assertIn("goal at most 1.10", lines[-1])

    def test_small_latency_shows_each_mode_at_each_size(self):
        lines = self.run_program("small_latency", self.db, "--seconds", "2", "--calls", "50", "--sizes", "32x32x32,32x32x512")
        rows = [line.split() for line in lines if line.endswith(("met", "MISSED"))]
        self.assertEqual([(row[0], row[2]) for row in rows],
                         [(size, mode) for size in ("32x32x32", "32x32x512") for mode in ("single", "stream", "graph")])

    def test_refined_choices_answers_each_problem(self):
        sizes, choices = self.db + ".txt", self.db + ".choices"
        shapes = ["300x200x100", "65x33x129:layout=nt", "64x96x128:layout=tn", "72x40x56:layout=tt"]
        pathlib.Path(sizes).write_text("\n".join(shapes))
        lines = self.run_program("refined_choices", self.db, sizes, choices, "--refine-ms", "20000")
        rows = [line.strip("| ").split(" | ") for line in lines if line[:3].strip("| ").isdigit()]
        self.assertEqual([row[0] for row in rows], shapes)
        for row in rows:
            self.assertTrue(0 < float(row[1]) < 60_000 and 0 < float(row[3]) < 100 and 0 < float(row[4]) < 100, row)
        self.assertIn("goal 0.98 at each", lines[-1])
        answers = pathlib.Path(choices).read_text().splitlines()[1:]
        self.assertEqual([answer.split("\t")[3] for answer in answers], shapes)


if __name__ == "__main__":
    skip_without_gpu()
    unittest.main()
