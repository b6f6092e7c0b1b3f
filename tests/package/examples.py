#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of examples/README.md as they stand, and holds their output against EXPECTED.

usage: examples.py BUILD_DIR CXX FAKE_DRIVER FAKE_CUBLAS

Installs what BUILD_DIR has built into an empty prefix and runs each block of commands in a copy of
examples/, in a home of its own, without a GPU: the fake driver and the fake cuBLAS multiply on the
CPU.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of each block, in order: patterns of its output, runs of spaces counting as one.
PREDICTED = r"\(predicted, not timed"
EXPECTED = [
    [rf"256x256x256 .* us .*{PREDICTED}.* 1024x1024x1024 .* us .*{PREDICTED}"],
    [r"(\w+/\w+=\d+\S* nearest match, predicted: .* A at multiples of \d+ bytes, B of \d+, D of \d+ ?){3}",
     r"Built target lookup_fetched \w+/\w+=\d+\S* nearest match, predicted: "],
    [r"^gemm-tune: build/gemm_tune_sm_86\.h is written nearest",
     r"nearest.*: \w+/\w+=\d+.* blocks of \d+ threads .*; predicted [\d.]+ us on "],
    [r"256x256x256 by \w+/.* 250x252x260 by \w+/.* 100x77x300 by \w+/.* 64x64x4096 by \w+/"],
    [r"64x64x64: right 256x256x256: right gemm-tune: 2 problems in build/calls\.txt",
     rf"256x256x256 \w+/.*{PREDICTED}.* 64x64x64 \w+/.*{PREDICTED}",
     r"right gemm-tune: served 0 of 6 calls of cuBLAS, .* left to cuBLAS 6, "],
    [rf"256x256x256 my_tiles/BM=\d+.*{PREDICTED}", r"'my_tiles' is no kernel family of this program: load it by --family",
     r"my_tiles/BM=\d+,BN=\d+,BK=\d+,TM=\d+,TN=\d+, predicted"],
]


def main(build, cxx, fake_driver, fake_cublas):
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "examples/README.md").read_text(), re.MULTILINE | re.DOTALL)
    if len(blocks) != len(EXPECTED):
        sys.exit(f"examples/README.md has {len(blocks)} blocks of commands, EXPECTED {len(EXPECTED)}")
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name).resolve()
        prefix, system, examples = scratch / "prefix", scratch / "system", scratch / "examples"
        for component in ("program", "preload", "library", "development"):
            subprocess.run(["cmake", "--install", build, "--component", component, "--prefix", prefix],
                           check=True, stdout=subprocess.DEVNULL)
        system.mkdir()
        for library in (fake_driver, fake_cublas):
            (system / pathlib.Path(library).name).symlink_to(library)
        shutil.copytree(ROOT / "examples", examples)
        (examples / "build").mkdir()
        libraries = next(prefix.glob("**/pkgconfig")).parent
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("GEMM_TUNE_DB", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
        environment.update(
            HOME=str(scratch), PATH=f"{prefix}/bin:{os.environ['PATH']}", CXX=cxx, CUDA_VISIBLE_DEVICES="",
            CMAKE_PREFIX_PATH=str(prefix), PKG_CONFIG_PATH=f"{libraries}/pkgconfig",
            LIBRARY_PATH=str(system), LD_LIBRARY_PATH=str(system))
        for block, patterns in zip(blocks, EXPECTED):
            print(block, flush=True)
            run = subprocess.run(["bash", "-e", "-u", "-c", block], cwd=examples, env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            print(run.stdout, flush=True)
            if run.returncode != 0:
                sys.exit(f"exit code {run.returncode}")
            output = " ".join(run.stdout.split())
            for pattern in patterns:
                if not re.search(pattern, output):
                    sys.exit(f"the output does not have '{pattern}'")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
