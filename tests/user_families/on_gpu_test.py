#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Families of users on a GPU: tuned, refused where they are wrong, isolated where they hang. usage: GEMM_TUNE MY_TILES EDGES
Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
import pathlib
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import FolderTest, skip_without_gpu  # noqa: E402

EDGES, MY_TILES, PROGRAM = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()


class UserFamiliesTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.db = self.folder / "tune.db"

    def run_program(self, family, *arguments):
        return subprocess.run([PROGRAM, *arguments, "--db", self.db, "--family", family], capture_output=True, text=True)

    def tune(self, family, *arguments):
        return self.run_program(family, "tune", "--require-gpu", "-q", "--no-kernel-cache", "--seed", "1", *arguments)

    def outcomes(self):
        """(config, disposition) of each row, and the revisions."""
        with sqlite3.connect(self.db) as connection:
            rows = connection.execute("""SELECT c.config, m.disposition, c.revision FROM measurements m
                                         JOIN candidates c ON c.id = m.candidate_id""").fetchall()
        return {(config, disposition) for config, disposition, _ in rows}, {revision for *_, revision in rows}

    def test_the_tutorials_family_has_a_winner_that_is_verified_timed_and_served(self):
        done = self.tune(MY_TILES, "--config", "my_tiles", "--sizes", "1024,1000x1004x1020", "--budget", "24")
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done)
        for line in done.stdout.splitlines()[:2]:
            self.assertRegex(line, r"my_tiles/BM=\d+.* TFLOP/s .* of cublasSgemm")
        outcomes, revisions = self.outcomes()
        self.assertEqual({disposition for _, disposition in outcomes} - {"rejected"}, {"ok"}, outcomes)
        self.assertTrue(all(revision.startswith("user:") for revision in revisions), revisions)
        best = self.run_program(MY_TILES, "best", "--without-library", "--sizes", "1024")
        self.assertIn("my_tiles/BM=", best.stdout, best)
        explained = self.run_program(MY_TILES, "explain", "--sizes", "1024")
        self.assertEqual(explained.returncode, 0, explained)

    def test_an_edge_that_is_left_out_is_a_wrong_result(self):
        done = self.tune(EDGES, "--config", "edges/TILE=16,FAULT=1", "--sizes", "1000")
        self.assertEqual(done.returncode, 5, done)
        self.assertEqual(self.outcomes()[0], {("edges/TILE=16,FAULT=1", "wrong_result")})

    def test_a_kernel_that_hangs_costs_its_worker_and_no_other_candidate(self):
        done = self.tune(EDGES, "--config", "edges/TILE=16,FAULT=2", "--config", "edges/TILE=16,FAULT=0", "--config",
                         "edges/TILE=8,FAULT=0", "--sizes", "256")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.outcomes()[0], {("edges/TILE=16,FAULT=2", "timed_out"), ("edges/TILE=16,FAULT=0", "ok"),
                                              ("edges/TILE=8,FAULT=0", "ok")})


skip_without_gpu()
unittest.main()
