#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""look_up PROGRAM on small databases: every row is there, allocations and locks are counted, goals are judged. The
times mean nothing here."""
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
KINDS = ["exact", "remembered", "first_seen", "miss_types", "miss_arch"]


def run(*arguments):
    return subprocess.run([PROGRAM, "--benchmark_repetitions=1", "--benchmark_min_time=0.0001", *arguments],
                          capture_output=True, text=True)


class LookUpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.done = run("--entries=23,100", "--require")
        cls.rows = {}
        for line in cls.done.stdout.splitlines()[1:]:
            cells = line.split()
            cls.rows[cells[0], cells[1]] = cells[2:]

    def test_every_row_is_there_and_every_answer_right(self):
        wanted = [("counts", "1")] + [(f"open/{entries}", "1") for entries in (23, 100)]
        wanted += [(f"gt_lookup/{kind}/{entries}", threads) for kind in KINDS for entries in (23, 100) for threads in "18"]
        self.assertEqual(sorted(self.rows), sorted(wanted), self.done)

    def test_allocations_and_locks_are_counted_in_the_program_and_in_the_library(self):
        self.assertEqual(self.rows["counts", "1"][-2:], ["1.00", "2.00"])
        for entries in (23, 100):  # reading a database takes some for each row
            allocations, locks = map(float, self.rows[f"open/{entries}", "1"][-2:])
            self.assertGreater(allocations, entries)
            self.assertGreater(locks, entries)

    def test_goals_are_judged_and_required(self):
        judged = [row[2] for row in self.rows.values() if len(row) == 5]
        self.assertEqual(len(judged), 20)
        self.assertLessEqual(set(judged), {"met", "MISSED"})
        self.assertEqual(self.done.returncode, 1 if "MISSED" in judged else 0)
        for row in self.rows.values():
            if len(row) == 5 and row[2] == "met":
                self.assertLessEqual(float(row[0]), float(row[1]))
                self.assertEqual(row[3:], ["0.00", "0.00"])

    def test_bad_numbers_of_entries_are_refused(self):
        for text in ("", "0", "23,x", "23x", "103824"):
            done = run(f"--entries={text}")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("--entries", done.stderr)


if __name__ == "__main__":
    unittest.main()
