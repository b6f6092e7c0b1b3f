#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/search/against_kernel_tuner.py knows of the kernel and makes of results; neither Kernel Tuner nor a GPU."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "bench/search/against_kernel_tuner.py"
spec = importlib.util.spec_from_file_location("against_kernel_tuner", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

#        BM   BN  BK  WM TM TN WARPS_K STAGES SPLIT_K
POINT = (64, 128, 16, 32, 8, 8, 2, 4, 2)


class AgainstKernelTunerTest(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)

    def test_a_point_names_every_parameter_of_the_kernel_in_its_order(self):
        self.assertEqual(script.config_text(POINT),
                         "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=16,WM=32,WN=64,TM=8,TN=8,WARPS_K=2,STAGES=4,ASYNC=1,"
                         "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED=0")
        text = (ROOT / script.KERNEL).with_name("params.cuh").read_text()
        [names] = re.findall(r"struct Params \{\s*int ([^;]*);", text)
        self.assertEqual(list(script.params_of(POINT)), re.split(r",\s*", names))

    def test_launches_are_those_of_gemm_tune(self):  # the figures of `gemm-tune explain`
        self.assertEqual(script.threads_of(POINT), 256)
        self.assertEqual(script.smem_bytes(POINT), 50176)
        self.assertEqual(script.grid_of(POINT, 1024), (128, 2, 1))
        # Three groups' sums of 128 x 64 take more than two stages of 8 x (128 + 4 + 64).
        self.assertEqual(script.smem_bytes((128, 64, 8, 32, 8, 8, 4, 2, 1)), 98304)

    def test_the_space_is_the_recorded_one_without_too_many_counters(self):
        self.assertEqual(len(script.space_for(1024)), 2636)
        at_4096 = script.space_for(4096)
        self.assertIn((32, 32, 8, 16, 4, 4, 1, 4, 1), at_4096)
        self.assertNotIn((32, 32, 8, 16, 4, 4, 1, 4, 2), at_4096)  # 16,384 tiles and their shares

    def test_the_kernel_takes_the_members_of_its_struct_in_order(self):
        text = (ROOT / "kernel_templates/device/call/gemm_args.cuh").read_text()
        [body] = re.findall(r"#define GT_GEMM_ARGS(.*?)\n\n", text, re.S)
        types = []
        for declaration in body.replace("\\", "").split(";")[:-1]:
            first, *others = declaration.split(",")
            types += [first.strip().rsplit(" ", 1)[0]] * (1 + len(others))
        self.assertEqual(script.MEMBER_TYPES, types)
        text = script.kernel_text()
        self.assertIn("gemm(int member0, int member1, int member2, int member3, float member4,", text)
        self.assertNotIn("gemm(const KernelArgs all)", text)
        self.assertEqual(text.count("const KernelArgs all = {"), 1)

    def test_the_table_holds_the_searches_against_the_fastest_of_them(self):
        searches = {"gemm-tune": {"evaluations": 100, "timed": 100, "seconds": 9.25,
                                  "trace": [{"config": "f/A=1", "time_us": 50.5}]},
                    "other": {"evaluations": 100, "timed": 80, "seconds": 70,
                              "trace": [{"config": "f/A=3", "time_us": 70}, {"config": "f/A=2", "time_us": 60}]},
                    "stopped": {"trace": []}}
        self.assertEqual(script.table(searches, {"f/A=1": 50, "f/A=2": 62.5}, 55)[2:],
                         ["| gemm-tune | 100 | 100 | 9.2 | 50.50 | 50.00 | 1.000 | 1.100 | f/A=1 |",
                          "| other | 100 | 80 | 70.0 | 60.00 | 62.50 | 0.800 | 0.880 | f/A=2 |",
                          "| stopped | - | - | - | - | - | - | - | - |"])

    def test_runs_that_ended_early_keep_their_last_value(self):
        runs = [[0.5, 0.6, 0.75], [0.25, 0.5]]
        self.assertEqual(script.spread(runs, [1, 3]), {1: (0.375, 0.25), 3: (0.625, 0.5)})

    def test_a_search_that_missed_a_sweep_has_no_mean(self):
        scores = {"a": {"x": {10: (0.5, 0.25)}, "y": {10: (1.0, 0.75)}}, "b": {"x": {10: (1.0, 1.0)}, "y": None}}
        self.assertEqual(script.recorded_table(scores, [10])[2:], ["| a | 0.750 (0.500) |", "| b | - |"])

    def test_what_is_wrong_with_the_command_line_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.run_script(folder, folder)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("holds no gemm-tune", run.stderr)
            (pathlib.Path(folder) / "gemm-tune").touch()
            run = self.run_script("--size", 1000, folder, folder)
            self.assertEqual(run.returncode, 2)
            self.assertIn("size 1000 is no multiple of 256", run.stderr)
            run = self.run_script(folder, folder + "/none")
            self.assertEqual(run.returncode, 2)
            self.assertIn("none' is no folder", run.stderr)


if __name__ == "__main__":
    unittest.main()
