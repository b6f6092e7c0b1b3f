#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER, whose name is a version as 0.1: one file of each format that outlives a release, and the programs of
examples/, as the program of today has them. Refuses where the changelog has the date of a release of that version: files
that users have cannot change any more.

usage: write.py FOLDER PROGRAM WRITE_ROWS CLIENT LIBRARY

    cmake --build build/release --target write_released

WRITE_ROWS is write_rows.cpp; CLIENT multiplies by cuBLAS.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Copy -> of examples/, and what makes it one for the exports of sm_90.
PROGRAMS = {"lookup.c": ("library/lookup.c", r"$^", ""), "lookup.cpp": ("library/lookup.cpp", r"$^", ""),
            "header.cpp": ("header/main.cpp", "sm_86", "sm_90"), "bundle.cpp": ("bundle/main.cpp", r".*sm_86.*\n", "")}
BUNDLED = ["gemm_tune_sm_90.h", "sm_90/*-naive-BM=16,*.cubin"]  # the other kernels would take hundreds of kilobytes


def without_descriptions(schema):
    if not isinstance(schema, dict):
        return schema
    return {name: without_descriptions(one) for name, one in schema.items() if name != "description" or isinstance(one, dict)}


def main(folder, program, write_rows, client, library):
    version = pathlib.Path(folder).name
    if re.search(rf"^## {re.escape(version)}\.\d+, \d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE):
        sys.exit(f"{version} is released: its files stay as they are")
    with tempfile.TemporaryDirectory() as name:
        scratch, new = pathlib.Path(name), pathlib.Path(name) / "new"
        new.mkdir()
        database = new / "winners.db"
        environment = dict(os.environ, GEMM_TUNE_DB=str(database), CUDA_VISIBLE_DEVICES="", XDG_CACHE_HOME=name)

        def run(*arguments, code=0, **others):
            done = subprocess.run([program, *arguments], env=environment, stdout=subprocess.PIPE, text=True, **others)
            if done.returncode != code:
                sys.exit(f"gemm-tune {' '.join(map(str, arguments))} ends with {done.returncode}")

        def without_paths(file):
            """Of this machine."""
            text = file.read_text().replace(client, "/usr/bin/program").replace(name, "/home/user")
            file.write_text(re.sub(r'"pid":\d+', '"pid":4711', text))

        subprocess.run([write_rows, new], check=True)
        for text in ("json", "csv"):
            run("export", "-q", "--format", text, "-o", new / f"rows.{text}")
        run("db", "contribute", "-q", "--arch", "sm_90", "-o", new)
        bundle = scratch / "bundle"
        run("export", "-q", "--arch", "sm_90", "--format", "bundle", "-o", bundle)
        for file in (file for pattern in BUNDLED for file in bundle.glob(pattern)):
            place = new / "bundle" / file.relative_to(bundle)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        run("capture", "-q", "-o", new / "capture.txt", "--", client, "64", "96", code=5)
        run("run", "-q", "--report", new / "report.jsonl", "--", client, "64", "96", code=5)
        without_paths(new / "capture.txt")
        without_paths(new / "report.jsonl")
        schema = json.loads((ROOT / "docs/json-output.schema.json").read_text())
        (new / "json-output.schema.json").write_text(json.dumps(without_descriptions(schema), separators=(",", ":")) + "\n")
        interface = subprocess.check_output([sys.executable, pathlib.Path(__file__).with_name("abi.py"),
                                             ROOT / "dispatch/include/gemm_tune/gemm_tune.h", library])
        (new / "abi.txt").write_bytes(interface)
        for copy, (example, text, other) in PROGRAMS.items():
            (new / copy).write_text(re.sub(text, other, (ROOT / "examples" / example).read_text()))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(new, folder)
    size = sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())
    print(f"{folder}: {size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
