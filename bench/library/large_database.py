#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a database of a million rows costs the program, in seconds and bytes. Needs no GPU.

usage: bench/library/large_database.py BUILD FOLDER [PROBLEMS]
  BUILD:  as in build/release, with the targets gemm-tune, gemm_tune and large_database
  FOLDER: for the databases, 1 GB; existing files are used again
  PROBLEMS: on each device, each with 500 rows (default: 1000)

Times are wall clock: the least of five runs with the file in the page cache, or one run if the command
changes the file.
"""
import ctypes
import os
import pathlib
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


class Options(ctypes.Structure):
    """gt_options of gemm_tune.h."""
    _fields_ = [("size", ctypes.c_uint64), ("policy", ctypes.c_int), ("database_path", ctypes.c_char_p),
                ("kernel_cache", ctypes.c_char_p), ("refine_ms", ctypes.c_double), ("refined_choices", ctypes.c_char_p)]


def open_library(library, database):
    handle, options = ctypes.c_void_p(), Options(ctypes.sizeof(Options), 0, os.fsencode(database))
    status = library.gt_open(ctypes.byref(options), ctypes.byref(handle))
    if status != 0:
        raise SystemExit(f"gt_open of {database} gave status {status}")
    library.gt_close(handle)


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    problems = sys.argv[3:]
    build, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    program, generator = build / "bin" / "gemm-tune", build / "bin" / "large_database"
    library = ctypes.CDLL(str(next(build.glob("**/libgemm_tune.so"))))
    library.gt_close.argtypes = [ctypes.c_void_p]
    current = folder / "large.db"
    if not current.exists():
        report("writing", seconds(command(generator, current, *problems)))
    report("size", current.stat().st_size, "bytes")

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


if __name__ == "__main__":
    main()
