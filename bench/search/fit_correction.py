#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the learned correction of the static model (search/model/learned_correction.h) to timed configs.

usage: fit_correction.py [--held-out] ARCH OUT CSV...
  ARCH: as in sm_90. OUT: the source to write, search/model/correction_ARCH.cpp. CSV: of `model_on_timings DATABASE... --features CSV`.

The trees predict log(measured / modelled). A config counts once in each problem, the more the nearer it is to the fastest; problems
with many configs count less for each. Configs that take three times the fastest's time or more are left out. --held-out first says what
fits without each fifth of the problems make of that fifth: the mean of |log(measured / predicted)| around its median over configs
within a quarter of the fastest, the deviation of these medians, and the fastest time over the least of the first 1, 4, 8 and 16 picks.
Needs scikit-learn; two minutes, with --held-out ten.
"""
import argparse
import csv
import pathlib
import subprocess

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GroupKFold

DEPTH, TREES, RATE, LEAST_IN_LEAF = 4, 100, 0.12, 30  # the depth as CorrectionTree's
SLOWEST, NEAR = 3.0, 1.25
PICKS = (1, 4, 8, 16)


def read(paths):
    """features' names, matrix of features, measured and modelled times, number of each row's problem."""
    rows, names = {}, None
    for path in paths:
        with open(path, newline="") as file:
            reader = csv.reader(file)
            head = next(reader)
            names = names or head[4:]
            if head[4:] != names:
                raise SystemExit(f"'{path}' has other features than the files before it")
            for problem, config, measured, modelled, *features in reader:
                key = problem, config
                if key not in rows or float(measured) < rows[key][0]:
                    rows[key] = float(measured), float(modelled), *map(float, features)
    table = np.array(list(rows.values()))
    _, problem = np.unique([problem for problem, _ in rows], return_inverse=True)
    return names, table[:, 2:].astype(np.float32), table[:, 0], table[:, 1], problem


def over_fastest(measured, problem):
    fastest = np.full(problem.max() + 1, np.inf)
    np.minimum.at(fastest, problem, measured)
    return measured / fastest[problem]


def weights(over, problem):
    near = np.exp(-(over - 1) / 0.15) + 0.1
    return near / np.bincount(problem, near)[problem] ** 0.5


def fitted(features, log_errors, weight):
    trees = GradientBoostingRegressor(n_estimators=TREES, learning_rate=RATE, max_depth=DEPTH, min_samples_leaf=LEAST_IN_LEAF,
                                      max_features=0.5, random_state=1)
    return trees.fit(features, log_errors, weight)


def judge(name, measured, predicted, problem):
    spreads, medians, picks = [], [], []
    for one in np.unique(problem):
        of_it = np.flatnonzero(problem == one)
        if len(of_it) < 25:
            continue
        us, errors = measured[of_it], np.log(measured[of_it] / predicted[of_it])
        near = errors[us < NEAR * us.min()]
        medians.append(np.median(near))
        spreads.append(np.abs(near - medians[-1]).mean())
        order = us[np.argsort(predicted[of_it], kind="stable")]
        picks.append([us.min() / order[:count].min() for count in PICKS])
    print(f"{name}: {len(picks)} problems, spread {np.mean(spreads):.4f}, deviation of medians {np.std(medians):.4f}, "
          f"picks {' '.join(f'{pick:.3f}' for pick in np.mean(picks, axis=0))}", flush=True)


def complete(tree, scale, added):
    """(features, thresholds, values) of a tree whose leaves all have the full depth: breadth first."""
    inner, leaves = (1 << DEPTH) - 1, 1 << DEPTH
    features, most, values = [0] * inner, [0.0] * inner, [0.0] * leaves

    def place(node, at):
        left = tree.children_left[node]
        if at >= inner:
            values[at - inner] = scale * tree.value[node, 0, 0] + added
        elif left < 0:  # a leaf above: both ways lead to its value
            place(node, 2 * at + 1)
            place(node, 2 * at + 2)
        else:
            features[at], most[at] = int(tree.feature[node]), float(tree.threshold[node])
            place(left, 2 * at + 1)
            place(tree.children_right[node], 2 * at + 2)

    place(0, 0)
    return features, most, values


def source(arch, trees, mean, configs, problems):
    def listed(numbers):
        return "{%s}" % ", ".join(str(number) if isinstance(number, int) else f"{number:#.6g}F" for number in numbers)

    lines = []
    for index, tree in enumerate(trees):
        lines.append("    {%s}," % ", ".join(map(listed, complete(tree.tree_, RATE, mean if index == 0 else 0))))
    return f"""// SPDX-License-Identifier: Apache-2.0
// Written by bench/search/fit_correction.py, of {configs} configs timed at {problems} problems.
#include <array>

#include "search/model/learned_correction.h"

namespace gemm_tune {{
namespace {{

constexpr std::array<CorrectionTree, {len(lines)}> kTrees = {{{{
{chr(10).join(lines)}
}}}};

}}  // namespace

std::span<const CorrectionTree> correction_of_{arch}() {{ return kTrees; }}

}}  // namespace gemm_tune
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--held-out", action="store_true", help="first judge fits on problems that they have not seen")
    parser.add_argument("arch")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("csv", nargs="+")
    arguments = parser.parse_args()
    _, features, measured, modelled, problem = read(arguments.csv)
    over = over_fastest(measured, problem)
    kept = over < SLOWEST
    features, measured, modelled, over = features[kept], measured[kept], modelled[kept], over[kept]
    _, problem = np.unique(problem[kept], return_inverse=True)
    log_errors, weight = np.log(measured / modelled), weights(over, problem)
    if arguments.held_out:
        predicted = np.empty_like(modelled)
        for seen, rest in GroupKFold(5).split(features, groups=problem):
            trees = fitted(features[seen], log_errors[seen], weight[seen])
            predicted[rest] = modelled[rest] * np.exp(trees.predict(features[rest]))
        judge("the model alone", measured, modelled, problem)
        judge("corrected, problems held out", measured, predicted, problem)
    trees = fitted(features, log_errors, weight)
    judge("corrected, all problems seen", measured, modelled * np.exp(trees.predict(features)), problem)
    mean = float(np.ravel(trees.init_.constant_)[0])
    arguments.out.write_text(source(arguments.arch, trees.estimators_[:, 0], mean, len(measured), problem.max() + 1))
    subprocess.run(["clang-format-14", "-i", arguments.out], check=True)


if __name__ == "__main__":
    main()
