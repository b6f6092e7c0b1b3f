#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/ that measure the library's calls on a GPU: what they refuse before they ask for one, and that
none is said in one sentence. usage: FOLDER of the programs, the program
that writes a sample database."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
MAKE_DATABASE = sys.argv.pop(1)
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

    def test_refined_choices_refuses_bad_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            sizes, choices = folder + "/sizes.txt", folder + "/choices.txt"
            for text, word in ("8x8x8:batch=2", "as in 8x8x8\n"), ("8x8", "'8x8' is not a problem"), ("", "holds no problem"):
                pathlib.Path(sizes).write_text(text)
                self.refused(2, word, "refined_choices", EXISTING, sizes, choices)
            pathlib.Path(sizes).write_text("8x8x8\n8x16x32:layout=tt\n")
            self.refused(2, "CHOICES", "refined_choices", EXISTING, sizes, EXISTING)
            self.refused(2, "SIZES", "refined_choices", EXISTING, "none.txt", choices)
            self.refused(2, "--refine-ms", "refined_choices", EXISTING, sizes, choices, "--refine-ms", "0")
            done = run("refined_choices", EXISTING, sizes, choices)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done)
            self.assertRegex(done.stderr, r"^refined_choices: .*(driver|GPU|device).*\n$")

    def test_a_missing_gpu_is_said_in_a_sentence(self):
        for program, *arguments in (("host_cost",), ("small_latency",), ("random_calls", "1")):
            done = run(program, EXISTING, *arguments)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done)
            self.assertRegex(done.stderr, rf"^{program}: .*(driver|GPU|device).*\n$")

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
                done = run("random_calls", db, "8", "1", cache, "--prepare", "sm_90")
                self.assertRegex(done.stdout, r"^\d+ kernels for 8 calls on sm_90\n$", done)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                kept.append({path.name: path.stat().st_ino for path in pathlib.Path(cache).iterdir()})
            self.assertEqual(len(kept[0]), int(done.stdout.split()[0]))
            self.assertGreater(len(kept[0]), 3)
            self.assertEqual(kept[0], kept[1])


if __name__ == "__main__":
    unittest.main()
