#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/results/tune_defaults.py with a program in gemm-tune's place, and its list."""
import contextlib
import io
import itertools
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "bench/results/tune_defaults.py"
sys.path.insert(0, str(SCRIPT.parent))
import tune_defaults  # noqa: E402
LIST = ROOT / "bench/results/default_sizes.txt"

# Each problem gets a winner of the speed in `speed`; those in `hopeless` get none. Where there is a file `waits`, the third
# problem waits to be interrupted.
FAKE = """#!{python}
import pathlib, signal, sqlite3, sys, time
folder = pathlib.Path(__file__).parent
at = {{name: sys.argv[i + 2] for i, name in enumerate(sys.argv[1:-1]) if name.startswith("--")}}
stopped = []
signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
with open(folder / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
file = sqlite3.connect(at["--db"])
file.executescript('''
CREATE TABLE IF NOT EXISTS devices (id);
CREATE TABLE IF NOT EXISTS winners (problem, speedup, rank);
DELETE FROM devices; INSERT INTO devices VALUES (1);
''')
failed = False
for number, problem in enumerate(pathlib.Path(at["--sizes"][1:]).read_text().split()):
    while number == 2 and (folder / "waits").exists() and not stopped:
        time.sleep(0.01)
    if stopped:
        sys.exit(130)
    if problem in (folder / "hopeless").read_text().split():
        failed = True
        continue
    file.execute("INSERT INTO winners VALUES (?, ?, 1)", (problem, float((folder / "speed").read_text())))
    file.commit()
    print(problem, "won", flush=True)
sys.exit(int((folder / "code").read_text()) or (4 if failed else 0))
"""


class TuneDefaultsTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.program = self.fake("gemm-tune", FAKE)
        self.set(speed="1.25", hopeless="", code="0", sizes="# a\n1x1x1 2x2x2\n3x3x3\n\n# b\n4x4x4 5x5x5\n")

    def set(self, **texts):
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def tune(self, *options):
        return subprocess.run([sys.executable, SCRIPT, "--sizes", self.folder / "sizes", *options,
                               self.program, self.folder / "all.db"], capture_output=True, text=True)

    def test_the_paragraphs_take_turns_and_the_end_says_how_many_beat_cublas(self):
        run = self.tune()
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(re.findall(r"(\S+) won", run.stdout), ["1x1x1", "4x4x4", "2x2x2", "5x5x5", "3x3x3"])
        self.assertEqual(run.stdout.splitlines()[-2:],
                         ["5 of 5 problems are tuned", "5 of 5 winners beat the better baseline; geometric mean of their "
                          "speed over it 1.250, least 1.250"])
        self.assertEqual(self.tune().returncode, 0)
        self.assertEqual((self.folder / "calls").read_text().count("\n"), 1)  # nothing is tuned twice

    def test_a_portion_stops_before_a_problem_that_may_not_end_in_time_and_the_next_goes_on(self):
        self.set(waits="")
        seconds, printed, errors = itertools.count(), io.StringIO(), io.StringIO()
        arguments = ["tune_defaults.py", "--sizes", str(self.folder / "sizes"), "--seconds", "2.6", str(self.program),
                     str(self.folder / "all.db")]
        # A problem takes a second: after two of them, a third might end too late.
        with (unittest.mock.patch.object(tune_defaults.time, "monotonic", lambda: next(seconds)),
              unittest.mock.patch.object(tune_defaults.threading, "Timer"), unittest.mock.patch.object(sys, "argv", arguments),
              contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended):
            tune_defaults.main()
        self.assertEqual(ended.exception.code, 5, errors.getvalue())
        self.assertIn("not finished", errors.getvalue())
        self.assertEqual(re.findall(r"(\S+) won", printed.getvalue()), ["1x1x1", "4x4x4"])
        self.assertIn("2 of 5 problems are tuned", printed.getvalue())
        (self.folder / "waits").unlink()
        run = self.tune()
        self.assertEqual((run.returncode, len(re.findall("won", run.stdout))), (0, 3))

    def test_a_problem_without_a_winner_is_told_and_does_not_stop_the_others(self):
        self.set(hopeless="4x4x4")
        run = self.tune()
        self.assertEqual(run.returncode, 0, run)
        self.assertIn("4 of 5 problems are tuned", run.stdout)

    def test_a_failure_of_the_program_is_told(self):
        self.set(code="3")
        run = self.tune()
        self.assertEqual((run.returncode, "failed with exit code 3" in run.stderr), (3, True), run)
        self.assertEqual(self.tune("--budget", "0").returncode, 2)

    def test_the_status_tunes_nothing(self):
        run = self.tune("--status")
        self.assertEqual((run.returncode, run.stdout), (0, "0 of 5 problems are tuned\n"), run)
        self.assertFalse((self.folder / "calls").exists())

    def test_the_list_has_some_four_hundred_problems_each_once_and_as_the_database_writes_them(self):
        words = [word for line in LIST.read_text().splitlines() for word in line.partition("#")[0].split()]
        self.assertEqual(len(words), len(set(words)))
        self.assertTrue(350 <= len(words) <= 420, len(words))
        for word in words:
            self.assertRegex(word, r"^[1-9]\d*x[1-9]\d*x[1-9]\d*(:layout=(nt|tn|tt))?(:batch=([2-9]|[1-9]\d+))?$")


if __name__ == "__main__":
    unittest.main()
