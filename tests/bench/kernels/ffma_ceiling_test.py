#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/kernels/ffma_ceiling without a GPU: its kernels are compiled, none is run. usage: PROGRAM"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


class FfmaCeilingTest(unittest.TestCase):
    def compile(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        done = run("--cubins", folder.name, "--lanes", "4", "--ctas", "1", "--orders", "serpentine", "--jobs", "2",
                   *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split() for line in done.stdout.splitlines()]
        cubins = {path.stem: path.read_bytes() for path in pathlib.Path(folder.name).iterdir()}
        self.assertEqual({row[0] for row in rows}, set(cubins))
        for cubin in cubins.values():
            self.assertEqual(cubin[:4], b"\x7fELF")
        return rows

    def test_every_step_compiles_without_spilling(self):
        rows = self.compile("--arch", "sm_90", "--shapes", "8x8", "--threads", "128")
        self.assertEqual([row[0].split("-")[0] for row in rows],
                         ["chains", "registers", "lds", "sts", "sts_t", "ldg", "ldg_t", "cp_async"])
        for row in rows:
            self.assertEqual(row[3:], "0 bytes spilled".split(), row)
            self.assertLessEqual(int(row[1]), 136, row)  # 64 sums, 32 of fragments, a slice on its way

    def test_products_are_not_moved_out_of_the_loop(self):
        # With them there, 128 sums and 256 products do not fit.
        rows = self.compile("--arch", "sm_90", "--shapes", "16x8", "--threads", "128", "--steps", "registers")
        self.assertEqual(rows[0][3:], "0 bytes spilled".split())

    def test_what_the_architecture_cannot_do_is_left_out(self):
        rows = self.compile("--arch", "sm_75", "--shapes", "8x8,16x16", "--threads", "128", "--steps", "lds,cp_async")
        self.assertEqual([row[0] for row in rows], ["lds-8x8-serpentine-lanes4x8-threads128-ctas1-bk8"])

    def test_what_is_no_thread_tile_is_named(self):
        for shape in ["8", "8x", "6x8", "8x8x8", "32x32"]:
            done = run("--arch", "sm_90", "--cubins", "/nonexistent/never-made", "--shapes", shape)
            self.assertNotEqual(done.returncode, 0, shape)
            self.assertIn(shape, done.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
