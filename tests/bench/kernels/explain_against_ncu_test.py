#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/kernels/explain_against_ncu.py with programs in the places of gemm-tune and ncu."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]

EXPLAIN = """#!{python}
import json, sys
if "BAD" in sys.argv[5]:
    sys.exit("gemm-tune: config is illegal")
totals = {{"global_loads": {{"requests": 10, "sectors": 40}}, "shared_loads": {{"requests": 8, "wavefronts": 20, "bank_conflicts": 12}}}}
print(json.dumps([{{"cta": {{"tile_m": 8, "tile_n": 8}}, "figures": [],
                   "launch": {{"grid": [1, 1, 1], "piece_k": 0, "threads": 32, "smem_bytes": 0, "totals": totals}}}}]))
"""
# Knows five counters, and one that nobody asks for.
NCU = """#!{python}
import sys
known = {{"l1tex__t_requests_pipe_lsu_mem_global_op_ld": 10, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": "1,040",
         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld": 12, "l1tex__t_sectors_pipe_lsu_mem_global_op_st": 0}}
if "--query-metrics" in sys.argv:
    print("Device NVIDIA H100\\nl1tex__unasked Counter\\n" + "\\n".join(name + " Counter  sectors" for name in known))
    sys.exit()
print('==PROF== Connected\\n"ID","Metric Name","Metric Value"')
for name in sys.argv[sys.argv.index("--metrics") + 1].split(","):
    if name.removesuffix(".sum") in known:
        print('"0","%s","%s"' % (name, known[name.removesuffix(".sum")]))
"""


class ExplainAgainstNcuTest(FolderTest):
    def setUp(self):
        super().setUp()
        for name, text in (("gemm-tune", EXPLAIN), ("ncu", NCU)):
            (self.folder / name).write_text(text.format(python=sys.executable))
            (self.folder / name).chmod(0o755)

    def run_script(self, *arguments, ncu=None):
        return subprocess.run([sys.executable, ROOT / "bench/kernels/explain_against_ncu.py", "--ncu", ncu or self.folder / "ncu",
                               self.folder / "gemm-tune", *arguments], capture_output=True, text=True)

    def test_each_counter_stands_beside_the_figure_of_explain(self):
        done = self.run_script("8x8x8/one/A=1", "--json", self.folder / "rows.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        self.assertEqual(lines, ["one/A=1 at 8x8x8", "global_loads requests 10 10 1.0000", "global_loads sectors 40 1040 0.0385",
                                 "global_stores sectors 0 0 1.0000", "shared_loads bank_conflicts 12 12 1.0000"])
        rows = json.loads((self.folder / "rows.json").read_text())
        self.assertEqual(rows[0]["counters"][1], {"name": "global_loads sectors", "explain": 40, "ncu": 1040.0})

    def test_a_config_that_fails_says_why_and_costs_no_other(self):
        done = self.run_script("8x8x8/one/BAD=1", "8x8x8/one/A=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: gemm-tune: config is illegal", done.stdout)
        self.assertIn("one/A=1 at 8x8x8\n  global_loads requests", done.stdout)

    def test_without_ncu_one_sentence_says_so(self):
        done = self.run_script(ncu="/nowhere/ncu")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("install Nsight Compute", done.stderr)


if __name__ == "__main__":
    unittest.main()
