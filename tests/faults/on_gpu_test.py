#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real runs on a GPU whose candidates do their worst, and runs that are killed. usage: FOLDER of the programs
Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import FolderTest, skip_without_gpu  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1))
ROWS = """SELECT c.config, min(m.recorded_at) FROM measurements m JOIN candidates c ON c.id = m.candidate_id
          WHERE m.rank IS NULL AND c.family NOT LIKE 'cublas%' GROUP BY 1"""


class RunsTest(FolderTest):
    def rows(self, query):
        if not self.db.exists():
            return []
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as connection:
            return connection.execute(query).fetchall()

    def test_faulty_candidates_are_data_and_the_healthy_ones_are_timed(self):
        for name, faulty in (("clean", "0"), ("mixed", "40")):
            done = subprocess.run([FOLDER / "tune_with_faults", self.folder / f"{name}.db", FOLDER / "faulty_kernels", "120",
                                   faulty], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done)

    def test_a_killed_run_loses_and_repeats_nothing(self):
        self.db = self.folder / "kills.db"
        command = [FOLDER / "gemm-tune", "--require-gpu", "-q", "--sizes", "1024", "--budget", "300", "--seed", "1",
                   "--no-kernel-cache", "--db", self.db]
        before = {}
        for most in range(40, 300, 60):  # rows after which the whole process group is killed
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
            while process.poll() is None and len(self.known()) < most:
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "the run ended by itself")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])
            now = self.known()
            self.assertEqual({config: now.get(config) for config in before}, before)
            before = now
        self.assertEqual(subprocess.run(command, stdout=subprocess.DEVNULL).returncode, 0)
        now = self.known()
        self.assertEqual({config: now.get(config) for config in before}, before)
        self.assertEqual(len(now), 300)

    def known(self):
        """When each kernel that the search tried was stored first; libraries' algorithms are beyond the budget."""
        try:
            return dict(self.rows(ROWS))
        except sqlite3.OperationalError:  # it is being made
            return {}


if __name__ == "__main__":
    skip_without_gpu()
    unittest.main()
