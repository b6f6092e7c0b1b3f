#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a database of a million rows costs the program, in seconds and bytes. Needs no GPU.

usage: bench/large_database.py BUILD FOLDER [PROBLEMS]
  BUILD:  as in build/release, with the targets gemm-tune, gemm_tune and large_database
  FOLDER: for the databases, 2 GB; existing files are used again
  PROBLEMS: on each device, each with 500 rows (default: 1000)

Times are wall clock: the least of five runs with the file in the page cache, or one run if the command
changes the file.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import time


def seconds(act):
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def least(act, runs=5):
    return min(seconds(act) for _ in range(runs))


def command(*arguments):
    return lambda: subprocess.run([str(a) for a in arguments], check=True,
                                  stdout=subprocess.DEVNULL)


def report(name, value, unit="s"):
    print(f"{name:<44}{value:>16,.3f} {unit}" if unit == "s" else f"{name:<44}{value:>16,} {unit}",
          flush=True)


def open_library(library, database):
    handle = ctypes.c_void_p()
    status = library.gt_open(os.fsencode(database), None, ctypes.byref(handle))
    if status != 0:
        raise SystemExit(f"gt_open of {database} gave status {status}")
    library.gt_close(handle)


def damage(source, target):
    """One page in a thousand is zeros, but for the first of the file."""
    shutil.copyfile(source, target)
    page = 4096
    with open(target, "r+b") as file:
        for at in range(1000 * page, target.stat().st_size - page, 1000 * page):
            file.seek(at)
            file.write(bytes(page))


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    problems = sys.argv[3:]
    build, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    program, generator = build / "bin" / "gemm-tune", build / "bin" / "large_database"
    library = ctypes.CDLL(str(next(build.glob("**/libgemm_tune.so"))))
    library.gt_close.argtypes = [ctypes.c_void_p]
    current, first = folder / "version_3.db", folder / "version_1.db"
    for path, version in ((current, "3"), (first, "1")):
        if not path.exists():
            report(f"writing version {version}", seconds(command(generator, path, version, *problems)))
        report(f"size, version {version}", path.stat().st_size, "bytes")

    best = (program, "best", "--arch", "sm_86", "--sizes", "256", "--db")
    report("best", least(command(*best, current)))
    report("gt_open", least(lambda: open_library(library, current)))
    report("db info", seconds(command(program, "db", "info", "--db", current)))
    report("db check", seconds(command(program, "db", "check", "-q", "--db", current)))
    merged = folder / "merged.db"
    merged.unlink(missing_ok=True)
    report("db merge into a new file",
           seconds(command(program, "db", "merge", "-q", merged, current)))
    report("db merge of the same rows",
           seconds(command(program, "db", "merge", "-q", merged, current)))
    merged.unlink()
    report("best, version 1 as it is", seconds(command(*best, first)))

    upgraded, damaged, saved = (folder / name for name in ("upgraded.db", "damaged.db", "saved.db"))
    shutil.copyfile(first, upgraded)
    report("upgrade of version 1", seconds(command(generator, upgraded, "upgrade")))
    report("size after the upgrade", upgraded.stat().st_size, "bytes")
    report("best after the upgrade", least(command(*best, upgraded)))
    damage(first, damaged)
    saved.unlink(missing_ok=True)
    report("salvage of damaged version 1",
           seconds(command(program, "db", "salvage", "-q", "--db", damaged, "--output", saved)))
    for path in (upgraded, damaged, saved):
        path.unlink()


if __name__ == "__main__":
    main()
