#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds packaging/ and the changelog against the build: versions, components, requirements, and that conda's first command configures.

usage: recipes.py CUDA_FOLDER CHART_JS
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "packaging/conda/recipe.yaml").read_text()
DOCKERFILE = (ROOT / "packaging/container/Dockerfile").read_text()
# What conda-forge calls the packages that CMake looks for; libsqlite is SQLiteCpp's, too.
NAMES = {"CLI11": "cli11", "Eigen3": "eigen", "SQLiteCpp": "sqlitecpp", "ZLIB": "zlib"}
NOT_PACKAGES = {"Threads", "Python", "MPI", "nanobind"}


def only(pattern, text):
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"'{pattern}' stands {len(found)} times where it should once")
    return found[0]


def check_versions():
    version = only(r"^project\(gemm_tune VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    for text, pattern in (RECIPE, r'^  version: "([\d.]+)"$'), ((ROOT / "python/pyproject.toml").read_text(), r'^version = "([\d.]+)"'):
        if only(pattern, text) != version:
            sys.exit(f"the version is {version}, and a package says {only(pattern, text)}")
    latest, date = re.search(r"^## (\S+), (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    if latest != version or not re.fullmatch(r"not released yet|\d{4}-\d\d-\d\d", date):
        sys.exit(f"the version is {version}, and the changelog begins with '{latest}, {date}'")
    if date[0].isdigit() and not (ROOT / "tests/released" / version.rpartition(".")[0]).is_dir():
        sys.exit(f"{version} is released, and tests/released has no files of it")
    # A package depends on the libraries of the distribution that built it.
    built_on, run_on = only(r"^FROM ubuntu:([\d.]+) AS build$", DOCKERFILE), only(r"^FROM nvidia/cuda:13\.\S+-runtime-ubuntu([\d.]+)$", DOCKERFILE)
    if built_on != run_on:
        sys.exit(f"the container builds on Ubuntu {built_on} for Ubuntu {run_on}")


def check_components():
    wanted = only(r"^set\(CPACK_COMPONENTS_ALL (.*)\)$", (ROOT / "cmake/GtPackages.cmake").read_text()).split()
    installed = only(r"for component in (.*?);", RECIPE).split()
    if installed != wanted:
        sys.exit(f"conda's package has the components {installed}, Debian's {wanted}")


def check_requirements():
    host = set(re.findall(r"^    - (\S+)", RECIPE.split("  host:")[1].split("  run:")[0], re.MULTILINE))
    lists = [path for path in ROOT.rglob("CMakeLists.txt")
             if path.relative_to(ROOT).parts[0] not in ("build", "tests", "examples", "bench")]
    wanted = {name for path in lists for name in re.findall(r"find_package\((\w+)[^)]*REQUIRED", path.read_text())} - NOT_PACKAGES
    missing = {NAMES.get(name, name) for name in wanted} - host
    if not wanted or missing:
        sys.exit(f"conda's recipe has no {', '.join(sorted(missing))} among its host requirements")


def check_configuration(cuda, chart):
    command = " ".join(only(r"- (cmake -S [^-](?:.|\n)*?)\n    - ", RECIPE).split())
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        (scratch / "prefix/targets").mkdir(parents=True)
        (scratch / "prefix/targets/x86_64-linux").symlink_to(cuda)
        (scratch / "source/chart.js/dist").mkdir(parents=True)
        (scratch / "source/chart.js/dist/chart.min.js").symlink_to(chart)
        if " -S . -B build-conda " not in command:
            sys.exit(f"the recipe configures by: {command}")
        command = command.replace(" -S . -B build-conda ", f" -S {shlex.quote(str(ROOT))} -B {name}/build ")
        environment = dict(os.environ, PREFIX=f"{name}/prefix", SRC_DIR=f"{name}/source", CMAKE_ARGS=f"-DCMAKE_INSTALL_PREFIX={name}/prefix")
        run = subprocess.run(["bash", "-e", "-u", "-c", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit(run.stdout)
        planned = subprocess.run(["ninja", "-C", f"{name}/build", "-t", "query", "installed"], check=True, stdout=subprocess.PIPE, text=True).stdout
        if "gemm-tune" not in planned:
            sys.exit(f"the target installed builds: {planned}")
        cache = (scratch / "build/CMakeCache.txt").read_text()
        if only(r"^GT_CHART_JS:\w+=(.*)$", cache) != f"{name}/source/chart.js/dist/chart.min.js":
            sys.exit("the recipe's Chart.js is not the one that is embedded")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    check_versions()
    check_components()
    check_requirements()
    check_configuration(*sys.argv[1:])
