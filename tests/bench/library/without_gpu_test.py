#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/ that measure the library's calls on a GPU: what they refuse before they ask for one, and that
none is said in one sentence. usage: FOLDER of the programs."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import WithoutGpuTest  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1))
EXISTING = __file__


class ProgramsTest(WithoutGpuTest):
    programs = FOLDER

    def test_bad_arguments_are_refused(self):
        for program, option in (("host_cost", "--size"), ("small_latency", "--sizes")):
            self.refused(2, "DATABASE", program)
            self.refused(2, "none.db", program, "none.db")
            self.refused(2, "'8x8' is not a problem", program, EXISTING, option, "8x8")
            self.refused(2, "8x8x8:layout=nt", program, EXISTING, option, "8x8x8:layout=nt")
            self.refused(2, "--seconds", program, EXISTING, "--seconds", "0")
        self.refused(2, "--threads", "host_cost", EXISTING, "--threads", "1,0")

    def test_refined_choices_refuses_bad_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            sizes, choices = folder + "/sizes.txt", folder + "/choices.txt"
            for text, word in ("8x8x8:batch=2", "as in 8x8x8\n"), ("8x8", "'8x8' is not a problem"), ("", "holds no problem"):
                pathlib.Path(sizes).write_text(text)
                self.refused(2, word, "refined_choices", EXISTING, sizes, choices)
            pathlib.Path(sizes).write_text("8x8x8\n8x16x32:layout=tt\n")
            self.refused(2, "CHOICES", "refined_choices", EXISTING, sizes, EXISTING)
            self.refused(2, "SIZES", "refined_choices", EXISTING, "none.txt", choices)
            self.refused(2, "--refine-ms", "refined_choices", EXISTING, sizes, choices, "--refine-ms", "0")
            self.needs_a_gpu("refined_choices", EXISTING, sizes, choices)

    def test_served_winners_refuses_bad_arguments(self):
        self.refused(2, "'8x8' is not a problem", "served_winners", EXISTING, "8x8")
        self.refused(2, "PROBLEM", "served_winners", EXISTING)
        self.needs_a_gpu("served_winners", EXISTING, "8x8x8")

    def test_a_missing_gpu_is_said_in_a_sentence(self):
        for program in ("host_cost", "small_latency"):
            self.needs_a_gpu(program, EXISTING)


if __name__ == "__main__":
    unittest.main()
