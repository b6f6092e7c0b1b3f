# SPDX-License-Identifier: Apache-2.0
"""load_family(): each case in a process of its own, for a family stays loaded."""
import os
import subprocess
import sys

import pytest

PLUGIN = os.environ.get("GT_PLUGIN")  # of examples/family


def run(script, *arguments):
    done = subprocess.run([sys.executable, "-c", "import sys, gemm_tune\n" + script, *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def test_what_is_no_plug_in_is_refused_by_its_name():
    lines = run("""
for file in (gemm_tune.__file__, "/no/such/file.so", 3):
    try:
        gemm_tune.load_family(file)
    except gemm_tune.ArgumentError as error:
        print(error)
""")
    assert len(lines) == 3
    assert "__init__.py" in lines[0] and "/no/such/file.so" in lines[1] and "file is 3: it must be a path" in lines[2]


@pytest.mark.skipif(not PLUGIN, reason="a build under sanitizers has no plug-in")
def test_a_loaded_family_is_searched_and_served(tmp_path):
    lines = run("""
plugin, database = sys.argv[1:]
gemm_tune.load_family(plugin)
gemm_tune.load_family(plugin)
table = gemm_tune.tune(64, budget=1, arch="sm_86", database=database, options=["--config", "my_tiles"], progress=False)
gemm_tune.configure(database)
print(table["config"][0])
print(gemm_tune.lookup(64, arch="sm_86").config)
print(gemm_tune.explain(64, arch="sm_86").details["config"])
""", PLUGIN, tmp_path / "family.db")
    assert lines[0].startswith("my_tiles/BM=") and lines == [lines[0]] * 3


@pytest.mark.skipif(not PLUGIN, reason="a build under sanitizers has no plug-in")
def test_a_family_is_loaded_before_the_first_question():
    lines = run("""
gemm_tune.lib._core.types()
try:
    gemm_tune.load_family(sys.argv[1])
except gemm_tune.ArgumentError as error:
    print(error)
""", PLUGIN)
    assert len(lines) == 1 and os.path.basename(PLUGIN) in lines[0]
