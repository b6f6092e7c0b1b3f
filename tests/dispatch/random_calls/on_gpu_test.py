#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""random_calls and captured_winners for a few seconds each on a GPU: no result is wrong. usage: FOLDER of the programs, the
program that writes a sample database. Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import OnGpuTest, skip_without_gpu  # noqa: E402

FOLDER, MAKE_DATABASE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)


class ProgramsTest(OnGpuTest):
    programs, make_database = FOLDER, MAKE_DATABASE

    def test_random_calls_are_right(self):
        for arguments in (["60", "1", self.cache], ["40", "2", self.cache, "--sample"]):
            self.assertRegex(self.run_program("random_calls", self.db, *arguments)[-1],
                             rf"^good: .* {arguments[0]} of {arguments[0]} random calls")

    def test_captured_winners_give_the_bits_of_eager_calls(self):
        tuned = self.db + ".tuned.db"
        self.run_program("gemm-tune", "--require-gpu", "-q", "--no-kernel-cache", "--sizes", "256,64x64x8192,100x100x100",
                         "--budget", "8", "--db", tuned)
        self.assertRegex(self.run_program("captured_winners", tuned, "20")[-1], "^good: 3 winners")


if __name__ == "__main__":
    skip_without_gpu()
    unittest.main()
