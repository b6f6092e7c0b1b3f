#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm-tune-research as a user calls it. usage: PROGRAM"""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import FolderTest  # noqa: E402

PROGRAM = sys.argv.pop(1)
SWEEP = str(pathlib.Path(__file__).with_name("made_up_sweep.json"))
RECORDING = """problem 64x64x64 0.1 1 1 0.5 0.01
try 0 0.5 0.01
try 1 1.5 0.02
try 2 0.7 0
"""


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


class ReplayTest(FolderTest):
    def path(self, name):
        return str(self.folder / name)

    def accepted(self, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, code, word, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertIn(word, done.stderr)

    def test_a_sweep_is_replayed_the_same_way_each_time(self):
        def trace(name, *arguments):
            text = self.accepted("replay", SWEEP, "--repeats", "3", "--budget", "30", "--trace", self.path(name), *arguments)
            return text, pathlib.Path(self.path(name)).read_text()

        text, first = trace("a")
        self.assertIn("made_up_sweep: 96 configs, 2 failed; 3 runs of 30", text)
        self.assertRegex(text, r"after 25 +[01]\.[0-9]+ of the optimum")
        self.assertEqual(trace("b", "--json")[1], first)
        self.assertNotEqual(trace("c", "--seed", "2")[1], first)
        lines = [json.loads(line) for line in first.splitlines()]
        self.assertEqual([(line["space"], line["strategy"], line["repeat"], len(line["evals"])) for line in lines],
                         [("made_up_sweep", "model", repeat, 30) for repeat in range(3)])

    def test_a_replay_says_how_its_runs_ended(self):
        text = self.accepted("replay", SWEEP, "--repeats", "2", "--budget", "30", "--stops", "--prior-noise", "0.1")
        self.assertRegex(text, r"ended after [0-9]+ to 30, median [0-9]+, behind the optimum by [0-9.]+ % in the median")
        [found] = json.loads(self.accepted("replay", SWEEP, "--budget", "all", "--json"))
        self.assertEqual((found["evaluations"]["least"], found["regret"]["worst"]), (96, 0))

    def test_every_strategy_finds_the_optimum_in_the_end(self):
        for strategy in ("model", "random", "exhaustive", "annealing", "genetic", "diff_evo"):
            [found] = json.loads(self.accepted("replay", SWEEP, "--budget", "all", "--in-flight", "4", "--json",
                                               "--strategy", strategy))
            self.assertEqual((found["ratios"][-1]["evaluations"], found["ratios"][-1]["mean"]), (96, 1), strategy)

    def test_another_sweep_foretells_the_times(self):
        other = self.path("other.json")
        pathlib.Path(other).write_text(pathlib.Path(SWEEP).read_text())
        [found] = json.loads(self.accepted("replay", SWEEP, "--prior", other, "--budget", "10", "--json"))
        self.assertEqual(found["ratios"][0]["mean"], 1)  # what is expected is what comes

    def test_bad_replays_are_refused_by_name(self):
        self.refused(2, "sweeps", "replay")
        self.refused(2, "missing.json", "replay", self.path("missing.json"))
        pathlib.Path(self.path("text.json")).write_text("time is money")
        self.refused(2, "'text' is not JSON", "replay", self.path("text.json"))
        self.refused(2, "oracle", "replay", SWEEP, "--strategy", "oracle")
        self.refused(2, "budget '0'", "replay", SWEEP, "--budget", "0")
        self.refused(2, "--repeats", "replay", SWEEP, "--repeats", "0")
        self.refused(2, "no times of the static model", "replay", SWEEP, "--prior", "model")
        self.refused(2, "the sweep that it would foretell", "replay", SWEEP, "--prior", SWEEP)
        self.refused(2, "missing.json", "replay", SWEEP, "--prior", self.path("missing.json"))
        self.refused(6, "missing.db", "replay", self.path("missing.db"))
        self.refused(2, "cannot be written", "replay", SWEEP, "--trace", self.path("no/folder"))
        self.refused(2, "--trace", "replay", SWEEP, "--trace", SWEEP)

    def test_a_recorded_run_is_simulated_for_each_number_of_agents(self):
        recording = self.path("recording.txt")
        pathlib.Path(recording).write_text(RECORDING)
        rows = self.accepted("simulate", recording, "--agents", "1,4", "--problems", "40").splitlines()[1:]
        self.assertEqual([row.split()[:2] for row in rows], [["1", "40"], ["4", "40"]])
        self.refused(2, "missing.txt", "simulate", self.path("missing.txt"))
        self.refused(2, "--agents", "simulate", recording, "--agents", "0")


if __name__ == "__main__":
    unittest.main()
