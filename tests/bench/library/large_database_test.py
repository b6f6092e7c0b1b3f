#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/library/large_database.py BUILD on two problems: each of its measurements is printed. The times mean nothing here."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "bench" / "library" / "large_database.py"
MEASURED = ["size", "best", "gt_open", "db info", "db check", "db merge into a new file", "db merge of the same rows"]

with tempfile.TemporaryDirectory() as folder:
    output = subprocess.run([sys.executable, SCRIPT, sys.argv[1], folder, "2"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
names = [line[:44].strip() for line in output.splitlines()]
missing = [name for name in MEASURED if name not in names]
sys.exit(f"not measured: {missing} in\n{output}" if missing else 0)
