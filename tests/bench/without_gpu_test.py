#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/ that measure the library's calls on a GPU: what they refuse before they ask for one, and that
none is said in one sentence. usage: FOLDER of the programs."""
import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
EXISTING = __file__


def run(program, *arguments):
    return subprocess.run([FOLDER / program, *arguments], capture_output=True, text=True,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


class WithoutGpuTest(unittest.TestCase):
    def refused(self, code, word, program, *arguments):
        done = run(program, *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertIn(word, done.stderr)

    def test_bad_arguments_are_refused(self):
        for program, option in (("host_cost", "--size"), ("small_latency", "--sizes")):
            self.refused(2, "DATABASE", program)
            self.refused(2, "none.db", program, "none.db")
            self.refused(2, "'8x8' is not a problem", program, EXISTING, option, "8x8")
            self.refused(2, "8x8x8:layout=nt", program, EXISTING, option, "8x8x8:layout=nt")
            self.refused(2, "--seconds", program, EXISTING, "--seconds", "0")
        self.refused(2, "--threads", "host_cost", EXISTING, "--threads", "1,0")

    def test_a_missing_gpu_is_said_in_a_sentence(self):
        for program in ("host_cost", "small_latency"):
            done = run(program, EXISTING)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done)
            self.assertRegex(done.stderr, rf"^{program}: .*(driver|GPU|device).*\n$")


if __name__ == "__main__":
    unittest.main()
