#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/cluster_recording.py over a database of two problems, with a program that enumerates nothing."""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "cluster_recording.py"
TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY);
CREATE TABLE devices (id INTEGER PRIMARY KEY, arch TEXT);
CREATE TABLE problems (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE measurements (id INTEGER PRIMARY KEY, device_id, problem_id, config_id, run_id, source, compile_s, gpu_s,
                           recorded_at, standing);
INSERT INTO runs VALUES (1), (2);
INSERT INTO devices VALUES (1, 'sm_90');
INSERT INTO problems VALUES (1, '64x64x64'), (2, '65x64x64');
INSERT INTO configs VALUES (7, 'warp_tiled/VEC=4,PRED=0'), (8, 'warp_tiled/VEC=1,PRED=1'), (9, 'warp_tiled/VEC=2,PRED=1');
"""


def recording(rows, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        database = sqlite3.connect(path / "a.db")
        database.executescript(TABLES)
        for problem, config, run, compile_s, gpu_s, second, standing in rows:
            database.execute(
                "INSERT INTO measurements (device_id, problem_id, config_id, run_id, source, compile_s, gpu_s, recorded_at, "
                "standing) VALUES (1, ?, ?, ?, 'measured', ?, ?, ?, ?)",
                (problem, config, run, compile_s, gpu_s, f"2026-11-23T10:00:{second:06.3f}Z", standing))
        database.commit()
        database.close()
        result = subprocess.run([sys.executable, SCRIPT, path / "a.db", "true", *options], check=True,
                                capture_output=True, text=True)
    return [line.split() for line in result.stdout.splitlines()]


class ClusterRecording(unittest.TestCase):
    ROWS = [(1, 7, 1, 1, 0.5, 1, "search"), (1, 8, 1, 3, None, 2, None), (1, 7, 1, 1, 0.5, 12, "tied"),
            (2, 9, 1, 1, 0.25, 14, "search"), (2, 7, 1, 1, 0.25, 15, "search"), (2, 9, 1, 1, 0.25, 20, "tied")]

    def test_finals_are_the_time_to_the_standings_without_the_compilation_of_variants(self):
        lines = recording(self.ROWS)
        problems = [line for line in lines if line[0] == "problem"]
        self.assertEqual([line[1] for line in problems], ["64x64x64", "65x64x64"])
        # 10 s, without 2 s of a compilation, and 5 s without 1; the program enumerates in no time.
        self.assertAlmostEqual(float(problems[0][3]), 8, delta=0.2)
        self.assertAlmostEqual(float(problems[1][3]), 4, delta=0.2)

    def test_the_winners_variants_follow_from_its_width_and_edges(self):
        problems = [line for line in recording(self.ROWS) if line[0] == "problem"]
        self.assertEqual([line[4] for line in problems], ["3", "1"])

    def test_candidates_are_in_order_and_equal_configs_have_one_number(self):
        tries = [line[1:] for line in recording(self.ROWS) if line[0] == "try"]
        self.assertEqual(tries, [["0", "1.00", "0.500"], ["1", "3.00", "0.000"], ["2", "1.00", "0.250"], ["0", "1.00", "0.250"]])

    def test_only_the_asked_runs_are_taken_and_problems_without_finals_are_named(self):
        rows = self.ROWS + [(1, 7, 2, 9, 0.5, 30, "search")]
        self.assertEqual(recording(rows, "--run", "1"), recording(self.ROWS))
        comments = [" ".join(line) for line in recording(rows) if line[0] == "#"]
        self.assertEqual(len(comments), 1)
        self.assertIn("64x64x64", comments[0])


if __name__ == "__main__":
    unittest.main()
