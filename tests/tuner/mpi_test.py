#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_test.py PROGRAM MPIRUN KILLS [--ulfm]: jobs of five ranks on this machine, with fake workers.

PROGRAM is tune_by_mpi_with_fakes. Five ranks must find the winners and store the rows of one rank, also where one of them has
no workers. Then rank 0 is killed
at KILLS random moments, and the same command again must go on from its database; with --ulfm, an agent is killed at KILLS
random moments, and the job must go on without it. In either case nothing is lost, and no candidate is stored twice.
Exit code 77 where this MPI starts no job at all.
"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from mpi_start import Start

PROGRAM, MPIRUN, KILLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
ULFM = "--ulfm" in sys.argv
RANKS, CONFIGS, PROBLEMS = 5, 60, 10
LIMIT_S = 120

start = Start(MPIRUN)
environment, version, IS_OPEN_MPI, options = start.environment, start.version, start.is_open_mpi, start.options
if ULFM:
    options += ["--with-ft", "ulfm"]


class Job:
    def __init__(self, folder, name, ranks=RANKS):
        self.db, self.pids = f"{folder}/{name}.db", f"{folder}/{name}.pids"
        if os.path.exists(self.pids):
            os.remove(self.pids)
        command = [MPIRUN, *options, "-n", str(ranks), PROGRAM, self.db, f"{folder}/{name}.log", str(CONFIGS),
                   str(PROBLEMS), self.pids]
        self.ranks = ranks
        self.start = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                                        start_new_session=True)

    def pid_of(self, rank):
        """Once all ranks have begun; None where the job has ended before."""
        while self.process.poll() is None:
            if os.path.exists(self.pids):
                pids = dict(line.split() for line in open(self.pids).read().splitlines() if line.count(" ") == 1)
                if len(pids) == self.ranks:
                    return int(pids[str(rank)])
            if time.monotonic() - self.start > LIMIT_S:
                self.give_up("not all ranks have begun")
            time.sleep(0.005)
        return None

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
    query = """SELECT p.text, c.text, count(*) FROM measurements m JOIN problems p ON p.id = m.problem_id
               JOIN configs c ON c.id = m.config_id WHERE m.standing = 'search' GROUP BY 1, 2"""
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
    seed = int(os.environ.get("GT_TEST_SEED", time.time_ns() % 1_000_000))
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
        if five.pid_of(0) is None and not IS_OPEN_MPI and {line.split()[0] for line in open(five.pids)} == {"0"}:
            print("this MPICH starts five jobs of one rank: its mpiexec and its library do not fit")
            sys.exit(77)
        begun = time.monotonic()
        check("five ranks", five.end(), (expected, 0))
        duration = time.monotonic() - begun
        check_database(five.db, expected, expected_rows)
        print(f"five ranks: {len(expected)} winners and {len(expected_rows)} rows of one rank, in {duration:.1f} s")

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
            job = Job(folder, name)
            pid = job.pid_of(victim)
            time.sleep(random.uniform(0, 0.6 * duration))
            is_under_way = pid is not None and job.process.poll() is None
            if is_under_way:
                os.kill(pid, signal.SIGKILL)
            found, code = job.end()
            if ULFM:
                check(f"winners without rank {victim} ({job.errors[-1500:]})", found, expected)
            elif found != expected:
                check("the same command again", Job(folder, name).end(), (expected, 0))
            else:
                is_under_way = False
            killed += is_under_way
            too_late += not is_under_way
            check_database(job.db, expected, expected_rows)
        who = "an agent" if ULFM else "rank 0"
        print(f"{who} killed at {killed} moments (and {too_late} after the last result): nothing lost, nothing twice")


main()
