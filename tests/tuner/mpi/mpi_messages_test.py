#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_messages_test.py PROGRAM MPIRUN OBSERVER: what gemm-tune-mpi says of ranks that cannot serve, and its exit codes;
without a GPU. OBSERVER is observed_mpi_start.

Exit code 77 where this MPI starts no job at all.
"""
import socket
import subprocess
import sys
import tempfile

from mpi_start import Start

PROGRAM, MPIRUN, OBSERVER = sys.argv[1:4]
start = Start(MPIRUN)
start.environment["CUDA_VISIBLE_DEVICES"] = ""
LIMIT_S = 600  # of a job that hangs


def job(*ranks):
    """(how many, options) for each part of the job; its exit code, output and errors."""
    command = [MPIRUN, *start.options]
    for i, (count, options) in enumerate(ranks):
        command += [":"] * (i > 0) + ["-n", str(count), PROGRAM, *options]
    with tempfile.TemporaryDirectory(prefix="gemm-tune-mpi-test") as folder:
        done = subprocess.run(command, capture_output=True, text=True, env=start.environment, cwd=folder, timeout=LIMIT_S)
    return done.returncode, done.stdout, done.stderr


def expect(what, found, code, sentence):
    if found[0] != code or found[2].count(sentence) != 1 or found[2].count("gemm-tune: ") != 1:
        sys.exit(f"{what}: exit code {found[0]} instead of {code}, or not once and alone '{sentence}':\n{found[2][-3000:]}")
    print(what)


if job((1, ["--help"]))[0] != 0:
    print("this MPI starts no job here")
    sys.exit(77)
leader = (1, "--arch sm_90 --sizes 64 --budget 1 --db tune.db".split())

expect("a bad option of every rank is said once", job((3, ["--jbos"])), 2, "gemm-tune: '--jbos' is no option: perhaps --jobs is meant")
expect("a bad option of some ranks is said once, with the ranks", job(leader, (2, ["--jbos"])), 2,
       "gemm-tune: the agents of ranks 1-2 cannot serve: '--jbos' is no option: perhaps --jobs is meant")
expect("an architecture that one rank misspells is its bad option", job(leader, (1, ["--arch", "sm_9"])), 2,
       "cannot serve: 'sm_9' is not a target that can be tuned here")
expect("a rank without a GPU is told of, with the remedies", job(leader, (1, [])), 3,
       "gemm-tune: the agent of rank 1 on " + socket.gethostname() + " cannot serve: it has no GPU that can be used (")
code, text, errors = job((2, ["--help"]))
if code != 0 or text.count("Usage:") != 1:
    sys.exit(f"--help of two ranks: exit code {code}, or not one text:\n{text}\n{errors}")

start.environment["LD_PRELOAD"] = OBSERVER
code, _, errors = job(leader)
if code != 0 or errors.count("MPI starts beside 1 prober") != 1:
    sys.exit(f"no driver wakes while MPI starts: exit code {code}\n{errors}")
