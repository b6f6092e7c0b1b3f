#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_test.py PROGRAM MPIRUN KILLS [--ulfm]: jobs of five ranks on this machine, with fake workers.

PROGRAM is tune_by_mpi_with_fakes. Five ranks must find the winners and store the rows of one rank, also where one of them has
no workers. Then rank 0 is killed
at KILLS of its messages, and the same command again must go on from its database; with --ulfm, an agent is killed at KILLS
of its messages, and the job must go on without it. In either case nothing is lost, and no candidate is stored twice.
Exit code 77 where this MPI starts no job at all.
"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile

from mpi_start import Start

PROGRAM, MPIRUN, KILLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
ULFM = "--ulfm" in sys.argv
RANKS, CONFIGS, PROBLEMS = 5, 60, 10
LIMIT_S = 1200  # of a job that hangs

start = Start(MPIRUN)
environment, version, IS_OPEN_MPI, options = start.environment, start.version, start.is_open_mpi, start.options
if ULFM:
    options += ["--with-ft", "ulfm"]


class Job:
    def __init__(self, folder, name, ranks=RANKS, killed=()):
        """killed: a rank and the number of the message at which it is killed."""
        self.db, self.counts = f"{folder}/{name}.db", f"{folder}/{name}.messages"
        command = [MPIRUN, *options, "-n", str(ranks), PROGRAM, self.db, f"{folder}/{name}.log", str(CONFIGS),
                   str(PROBLEMS), self.counts, *map(str, killed)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                                        start_new_session=True)

    def messages(self):
        """How many messages each rank that has ended by itself had."""
        if not os.path.exists(self.counts):
            return {}
        return {int(rank): int(count) for rank, count in map(str.split, open(self.counts))}

    def end(self):
        """The winners, and the exit code."""
        try:
            out, self.errors = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.give_up("has not ended")
        return sorted(line for line in out.splitlines() if "x1024x" in line), self.process.returncode

    def give_up(self, why):
        os.killpg(self.process.pid, signal.SIGKILL)
        sys.exit(f"a job hangs: {why}\n{self.process.communicate()[1][-2000:]}")


def rows(path):
    """Candidate -> how often it is stored as a result of the search."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",), path
    query = """SELECT p.text, c.config, count(*) FROM measurements m JOIN problems p ON p.id = m.problem_id
               JOIN candidates c ON c.id = m.candidate_id WHERE m.median_us IS NOT NULL AND m.rank IS NULL GROUP BY 1, 2"""
    return {(problem, config): count for problem, config, count in db.execute(query)}


def winners(path):
    db = sqlite3.connect(path)
    return sorted(f"{problem} {config}" for problem, config in db.execute("SELECT problem, config FROM winners"))


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{what}:\n{got}\ninstead of\n{expected}")


def check_database(path, expected_winners, expected_rows):
    stored = rows(path)
    twice = {key: count for key, count in stored.items() if count != 1}
    check("candidates stored more than once", twice, {})
    check("candidates stored", set(stored), expected_rows)
    check("winners stored", winners(path), expected_winners)


def main():
    seed = int(os.environ.get("GT_TEST_SEED", 1))
    random.seed(seed)
    print(f"seed {seed}; {' '.join(version.split()[:5]) or 'unknown MPI'}")
    with tempfile.TemporaryDirectory(prefix="gemm-tune-mpi-test") as folder:
        alone = Job(folder, "alone", ranks=1)
        expected, code = alone.end()
        if code != 0:
            print(f"this MPI starts no job here: {alone.errors[-600:]}")
            sys.exit(77)
        check("number of winners", len(expected), PROBLEMS)
        expected_rows = set(rows(alone.db))
        check_database(alone.db, expected, expected_rows)

        five = Job(folder, "five")
        ended, messages = five.end(), five.messages()
        if not IS_OPEN_MPI and set(messages) == {0}:
            print("this MPICH starts five jobs of one rank: its mpiexec and its library do not fit")
            sys.exit(77)
        check("five ranks", ended, (expected, 0))
        check("ranks that have ended", sorted(messages), list(range(RANKS)))
        check_database(five.db, expected, expected_rows)
        print(f"five ranks: {len(expected)} winners and {len(expected_rows)} rows of one rank, by {messages} messages")

        for rank in 0, 2:
            environment["GT_BROKEN_RANK"] = str(rank)
            broken = Job(folder, f"broken{rank}")
            check("five ranks, one of them without workers", broken.end(), (expected, 0))
            sentence = f"the agent of rank {rank} on node serves no more: a worker process cannot start"
            if broken.errors.count(sentence) != 1:
                sys.exit(f"nobody is told once that rank {rank} was dismissed:\n{broken.errors[-1500:]}")
            check_database(broken.db, expected, expected_rows)
        del environment["GT_BROKEN_RANK"]
        print("a rank whose workers do not start is dismissed, as rank 0 says, and the job goes on")

        killed = too_late = 0
        while killed < KILLS and killed + too_late < 3 * KILLS:
            i = killed + too_late
            name = f"kill{i}"
            victim = random.randrange(1, RANKS) if ULFM else 0
            job = Job(folder, name, killed=(victim, random.randint(1, messages[victim])))
            found, code = job.end()
            is_under_way = victim not in job.messages()
            if ULFM:
                check(f"winners without rank {victim} ({job.errors[-1500:]})", found, expected)
            elif is_under_way:
                check("the same command again", Job(folder, name).end(), (expected, 0))
            killed += is_under_way
            too_late += not is_under_way
            check_database(job.db, expected, expected_rows)
        who = "an agent" if ULFM else "rank 0"
        print(f"{who} killed at {killed} messages (and {too_late} jobs had fewer): nothing lost, nothing twice")


main()
