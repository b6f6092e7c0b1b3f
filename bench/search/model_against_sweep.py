#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the static model with the measured times of a sweep.

Reads the verified and timed candidates of a gemm-tune database, with the times that the model
predicted. Changes nothing in the database, which should be that of an exhaustive run (--budget all).
The predicted time is the model's second one, which knows the registers and the shared memory of the
compiled kernel. If a config has rows of several kernel texts, the newest row counts.

Prints for each device and problem the number of candidates; Spearman's rank correlation between
predicted and measured times (equal times share their mean rank; 1 is the same order); and the quality
of the model's own choice: the best time over the time of its first pick, and over the best time among
its first 16 picks (1 is the best candidate). Equal predictions are picked in the order of the config
texts.
"""
import argparse
import pathlib
import sqlite3
import sys

PICKS = 16

TIMED = """
SELECT arch || ' ' || name || ', ' || sm_count || ' SMs', problem, config, median_us, predicted_us
FROM (
  SELECT d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text AS problem, c.config,
         m.median_us, m.predicted_us,
         row_number() OVER (
           PARTITION BY m.device_id, m.problem_id, c.config ORDER BY m.recorded_at DESC, m.id DESC
         ) AS age
  FROM measurements m
  JOIN candidates c ON c.id = m.candidate_id
  JOIN devices d ON d.id = m.device_id
  JOIN problems p ON p.id = m.problem_id
  WHERE m.disposition = 'ok' AND m.median_us IS NOT NULL AND m.predicted_us IS NOT NULL
)
WHERE age = 1
ORDER BY arch, name, sm_count, M, N, K, problem, predicted_us, config
"""


def mean_ranks(values):
    """Each value's place in ascending order; equal ones share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in range(start, end):
            ranks[order[place]] = (start + end - 1) / 2
        start = end
    return ranks


def rank_correlation(xs, ys):
    """Spearman's; nothing where one side is all equal."""
    middle = (len(xs) - 1) / 2
    a = [rank - middle for rank in mean_ranks(xs)]
    b = [rank - middle for rank in mean_ranks(ys)]
    spread = sum(x * x for x in a) * sum(y * y for y in b)
    return sum(x * y for x, y in zip(a, b)) / spread**0.5 if spread > 0 else None


def timed_candidates(path):
    """Of each (device, problem), pairs of predicted and measured time in the model's order."""
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        groups = {}
        for device, problem, _, measured, predicted in database.execute(TIMED):
            groups.setdefault((device, problem), []).append((predicted, measured))
        return groups
    finally:
        database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", metavar="DATABASE", type=pathlib.Path)
    path = parser.parse_args().database
    try:
        groups = timed_candidates(path)
    except sqlite3.Error as error:
        sys.exit(f"{path} cannot be read as a database of gemm-tune: {error}")
    if not groups:
        sys.exit(f"{path} holds no candidate that was timed on a GPU")
    row = "{:<24}{:>8}{:>18}{:>12}{:>12}"
    shown = None
    for (device, problem), candidates in groups.items():
        if device != shown:
            print(device)
            print(row.format("problem", "timed", "rank correlation", "first pick", f"best of {PICKS}"))
            shown = device
        predicted, measured = zip(*candidates)
        correlation = rank_correlation(predicted, measured)
        best = min(measured)
        print(row.format(problem, len(candidates), "-" if correlation is None else f"{correlation:.3f}",
                         f"{best / measured[0]:.3f}", f"{best / min(measured[:PICKS]):.3f}"))


if __name__ == "__main__":
    main()
