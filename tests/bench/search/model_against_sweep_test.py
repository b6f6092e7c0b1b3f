#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/search/model_against_sweep.py over databases written by hand."""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class ModelAgainstSweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a sweep?.db"

    def write(self, rows):
        """rows: problem, config, measured, predicted[, other columns]."""
        database = sqlite3.connect(self.path)
        database.executescript((ROOT / "db/schema/schema.sql").read_text())
        database.execute("INSERT INTO devices (id, arch, name, sm_count) VALUES (1, 'sm_90', 'NVIDIA H100', 132)")
        database.execute("INSERT INTO runs (id, uuid, tool_version, cuda_version, command, seed, started_at)"
                         " VALUES (1, 'u', '0.1.0', '13.0', 'tune', '1', '2026-11-21')")
        for problem, config, measured, predicted, *others in rows:
            M, N, K = problem.split("x")
            database.execute(
                "INSERT OR IGNORE INTO problems (text, M, N, K, batch_kind, batch, type_a, type_b, type_c, type_d, accuracy,"
                " layout, align_a, align_b, align_c, align_d, epilogue) VALUES (?, ?, ?, ?, 'strided', 1, 'f32', 'f32',"
                " 'f32', 'f32', 'fp32', 'nn', 16, 16, 16, 16, 'none')", (problem, M, N, K))
            columns = {"device_id": 1, "run_id": 1, "disposition": "ok",
                       "source": "measured", "median_us": measured, "predicted_us": predicted,
                       "recorded_at": "2026-11-21T12:00:00Z"}
            if measured is not None:
                columns |= {"samples": "[1]", "launches_per_sample": 1}
            columns |= others[0] if others else {}
            revision = columns.pop("revision", "2")
            database.execute("INSERT OR IGNORE INTO candidates (family, revision, config) VALUES ('f', ?, ?)",
                             (revision, config))
            database.execute(
                f"INSERT INTO measurements (problem_id, candidate_id, counts, {', '.join(columns)}) VALUES"
                " ((SELECT id FROM problems WHERE text = ?),"
                f" (SELECT id FROM candidates WHERE config = ? AND revision = ?), 1{', ?' * len(columns)})",
                (problem, config, revision, *columns.values()))
        database.commit()
        database.close()

    def run_script(self):
        return subprocess.run([sys.executable, ROOT / "bench/search/model_against_sweep.py", self.path],
                              capture_output=True, text=True)

    def lines(self):
        run = self.run_script()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return [line.split() for line in run.stdout.splitlines()]

    def test_equal_predictions_share_their_mean_rank(self):
        # Ranks 1 0 2 3 measured and 0 1.5 1.5 3 predicted: 3 / sqrt(5 * 4.5).
        self.write([("64x64x64", "f/A=1", 12, 10), ("64x64x64", "f/A=2", 10, 20),
                    ("64x64x64", "f/A=3", 30, 20), ("64x64x64", "f/A=4", 40, 40)])
        self.assertEqual(self.lines()[0], "sm_90 NVIDIA H100, 132 SMs".split())
        self.assertEqual(self.lines()[2], ["64x64x64", "4", "0.632", "0.833", "1.000"])

    def test_only_the_first_sixteen_picks_count_as_such(self):
        # The model's last of 17 is the best: 1 - 6 * 512 / (17 * 288).
        self.write([("1024x1024x1024", f"f/A={i}", 125 if i == 1 else 50 if i == 17 else 100 + i, i)
                    for i in range(1, 18)])
        self.assertEqual(self.lines()[2], ["1024x1024x1024", "17", "0.373", "0.400", "0.490"])

    def test_only_the_newest_verified_and_timed_row_of_a_config_counts(self):
        old = {"revision": "1", "recorded_at": "2026-11-20T12:00:00Z"}
        self.write([("64x64x64", "f/A=1", 10, 10), ("64x64x64", "f/A=2", 20, 20),
                    ("64x64x64", "f/A=2", 1, 99, old),
                    ("64x64x64", "f/A=3", 1, 1, {"disposition": "wrong_result", "reason": "element 0"}),
                    ("64x64x64", "f/A=4", None, 1, {"source": "predicted"}),
                    ("64x64x64", "f/A=5", 1, None)])
        self.assertEqual(self.lines()[2], ["64x64x64", "2", "1.000", "1.000", "1.000"])

    def test_problems_are_told_apart_and_ordered_by_size(self):
        self.write([("512x512x512", "f/A=1", 10, 10), ("512x512x512", "f/A=2", 5, 10), ("64x64x64", "f/A=1", 10, 10)])
        self.assertEqual(self.lines()[2:], [["64x64x64", "1", "-", "1.000", "1.000"],
                                            ["512x512x512", "2", "-", "0.500", "1.000"]])

    def test_what_cannot_be_read_is_named_and_left_alone(self):
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{self.path} cannot be read as a database of gemm-tune", run.stderr)
        self.assertFalse(self.path.exists())
        self.write([("64x64x64", "f/A=4", None, 1, {"source": "predicted"})])
        before = self.path.read_bytes()
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn("holds no candidate that was timed", run.stderr)
        self.assertEqual(self.path.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
