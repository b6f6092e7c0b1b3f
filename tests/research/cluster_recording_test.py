#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""research/cluster_recording.py over a database of two problems, with a program that enumerates nothing."""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "research" / "cluster_recording.py"
TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY);
CREATE TABLE devices (id INTEGER PRIMARY KEY, arch TEXT);
CREATE TABLE problems (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE candidates (id INTEGER PRIMARY KEY, config TEXT);
CREATE TABLE measurements (id INTEGER PRIMARY KEY, device_id, problem_id, candidate_id, run_id, source, compile_s, gpu_s,
                           recorded_at, rank);
INSERT INTO runs VALUES (1), (2);
INSERT INTO devices VALUES (1, 'sm_90');
INSERT INTO problems VALUES (1, '64x64x64'), (2, '65x64x64');
INSERT INTO candidates VALUES (7, 'warp_tiled/VEC=4,PRED=0'), (8, 'warp_tiled/VEC=1,PRED=1'), (9, 'warp_tiled/VEC=2,PRED=1');
"""


def recording(rows, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        database = sqlite3.connect(path / "a.db")
        database.executescript(TABLES)
        for problem, config, run, compile_s, gpu_s, second, rank in rows:
            database.execute(
                "INSERT INTO measurements (device_id, problem_id, candidate_id, run_id, source, compile_s, gpu_s, recorded_at, "
                "rank) VALUES (1, ?, ?, ?, 'measured', ?, ?, ?, ?)",
                (problem, config, run, compile_s, gpu_s, f"2026-11-23T10:00:{second:06.3f}Z", rank))
        database.commit()
        database.close()
        result = subprocess.run([sys.executable, SCRIPT, path / "a.db", "true", "--plan-factor", "0", *options], check=True,
                                capture_output=True, text=True)
    return [line.split() for line in result.stdout.splitlines()]


class ClusterRecording(unittest.TestCase):
    ROWS = [(1, 7, 1, 1, 0.5, 1, None), (1, 8, 1, 3, None, 2, None), (1, 7, 1, 1, 0.5, 12, 1),
            (2, 9, 1, 1, 0.25, 14, None), (2, 7, 1, 1, 0.25, 15, None), (2, 9, 1, 1, 0.25, 20, 1)]

    def test_finals_are_the_time_to_the_ranks_without_the_compilation_of_variants(self):
        lines = recording(self.ROWS)
        problems = [line for line in lines if line[0] == "problem"]
        self.assertEqual([line[1] for line in problems], ["64x64x64", "65x64x64"])
        # 10 s, without 2 s of a compilation, and 5 s without 1.
        self.assertEqual([line[3] for line in problems], ["8.000", "4.000"])

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
