#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""random_calls without a GPU: what it refuses, and that it compiles what its calls launch. usage: FOLDER of the programs,
the program that writes a sample database."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import WithoutGpuTest  # noqa: E402

FOLDER, MAKE_DATABASE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
EXISTING = __file__


class ProgramsTest(WithoutGpuTest):
    programs = FOLDER

    def test_a_missing_gpu_is_said_in_a_sentence(self):
        for program, *arguments in (("random_calls", "1"), ("captured_winners",)):
            self.needs_a_gpu(program, EXISTING, *arguments)

    def test_random_calls_refuses_bad_arguments(self):
        self.refused(2, "CALLS", "random_calls", EXISTING)
        self.refused(2, "CALLS", "random_calls", EXISTING, "0")
        self.refused(2, "none.db", "random_calls", "none.db", "1")
        self.refused(2, "KERNEL_CACHE", "random_calls", EXISTING, "1", "--prepare", "sm_90")

    def test_the_kernels_of_random_calls_are_compiled_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            db, cache = folder + "/tune.db", folder + "/cache"
            subprocess.run([MAKE_DATABASE, db, "sm_90"], check=True)
            self.refused(2, "'sm_1' is not an architecture", "random_calls", db, "8", "1", cache, "--prepare", "sm_1")
            kept = []
            for _ in range(2):  # the second finds all of them
                done = self.run_program("random_calls", db, "8", "1", cache, "--prepare", "sm_90")
                self.assertRegex(done.stdout, r"^\d+ kernels for 8 calls on sm_90\n$", done)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                kept.append({path.name: path.stat().st_ino for path in pathlib.Path(cache).iterdir()})
            self.assertEqual(len(kept[0]), int(done.stdout.split()[0]))
            self.assertGreater(len(kept[0]), 3)
            self.assertEqual(kept[0], kept[1])


if __name__ == "__main__":
    unittest.main()
