#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/kernels/check_sass.py over listings written by hand, in the forms of nvdisasm -c and of cuobjdump -sass."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from programs import FolderTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]

# A loop over slices around a loop over k steps, in nvdisasm's form: labels. 5 of 9 instructions are FFMAs.
NESTED = """
	.target	sm_90
	.section	.text.gemm,"ax",@progbits
        .global         gemm
gemm:
.text.gemm:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_2:
        /*0010*/                   LDG.E.128 R20, desc[UR4][R2.64] ;
        /*0020*/                   STS.128 [R6+0x800], R20 ;
        /*0030*/                   STS [R6], R24 ;
        /*0040*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
.L_x_1:
        /*0050*/                   LDS.128 R8, [R4+0x10] ;
        /*0060*/                   LDS.64 R12, [R5] ;
        /*0070*/              @!PT LDS RZ, [RZ] ;
        /*0080*/                   FFMA R30, R8, R12, R40 ;
        /*0090*/                   FFMA R31, R8.reuse, R13, R41 ;
        /*00a0*/                   FFMA R32, R8, R14, R42 ;
        /*00b0*/                   FFMA R33, R9.reuse, R12, R43 ;
        /*00c0*/                   FFMA R34, R9, R15, RZ ;
        /*00d0*/               @P0 BRA `(.L_x_1) ;
        /*00e0*/              @!P1 BRA `(.L_x_2) ;
        /*00f0*/                   EXIT ;
.L_x_0:
        /*0100*/                   BRA `(.L_x_0);
"""

# Two kernels in cuobjdump's form: addresses, and the encoding beside the text.
FLAT = """
	code for sm_80
		Function : spills
	.headerflags	@"EF_CUDA_SM80"
        /*0000*/                   STL [R1], R4 ;                              /* 0x0000000401007387 */
                                                                               /* 0x0001e80000100800 */
        /*0010*/                   LDGSTS.E.BYPASS.128 [R7], [R2.64] ;         /* 0x0000000002077fae */
        /*0020*/                   FFMA R0, R1, R2, R3 ;                       /* 0x0000000201007223 */
        /*0030*/                   LDL.64 R4, [R1] ;                           /* 0x0000000001047983 */
        /*0040*/              @!P0 BRA 0x10 ;                                  /* 0xffffffc000008947 */
        /*0050*/                   EXIT ;                                      /* 0x000000000000794d */
        /*0060*/                   BRA 0x60;                                   /* 0xfffffff000007947 */

		Function : straight
        /*0000*/                   FFMA R0, R1, R2, R3 ;                       /* 0x0000000201007223 */
        /*0010*/                   EXIT ;                                      /* 0x000000000000794d */
"""


class CheckSassTest(FolderTest):
    def check(self, listing, *arguments):
        path = self.folder / "kernel.sass"
        path.write_text(listing)
        return subprocess.run([sys.executable, ROOT / "bench/kernels/check_sass.py", *arguments, path], capture_output=True,
                              text=True)

    def kernels(self, listing, *arguments):
        run = self.check(listing, "--json", *arguments)
        self.assertEqual(run.stderr, "")
        return json.loads(run.stdout)

    def test_the_innermost_loop_with_ffmas_is_counted(self):
        kernel, = self.kernels(NESTED)
        loop = kernel["loop"]
        self.assertEqual((kernel["kernel"], kernel["instructions"], kernel["local"]), ("gemm", 17, 0))
        self.assertEqual((loop["from"], loop["to"], loop["instructions"], loop["ffma"]), (0x50, 0xd0, 9, 5))
        self.assertAlmostEqual(loop["ffma_share"], 0.5556, places=4)
        self.assertEqual(loop["kinds"], {"LDS.128": 1, "LDS.64": 1, "LDS (void)": 1, "FFMA": 5, "BRA": 1})
        self.assertEqual(loop["kinds_with_loops_around"],
                         {"LDG.128": 1, "STS.128": 1, "STS.32": 1, "BAR": 1, "LDS.128": 1, "LDS.64": 1,
                          "LDS (void)": 1, "FFMA": 5, "BRA": 2})

    def test_a_register_that_was_kept_is_not_read_again(self):
        # 8 12 40 conflict; 8 13 41 read two odd ones; then 8 is kept: 14 42; 9 43 are odd, 12 is not; 9 is kept: 15.
        loop = self.kernels(NESTED)[0]["loop"]
        self.assertEqual(loop["ffma_with_reuse"], 2)
        self.assertEqual(loop["bank_conflicts"], 1)
        self.assertEqual(loop["two_of_one_bank"], 3)

    def test_addresses_serve_as_well_as_labels(self):
        spills, straight = self.kernels(FLAT)
        self.assertEqual((spills["kernel"], spills["local"]), ("spills", 2))
        self.assertEqual((spills["loop"]["from"], spills["loop"]["to"]), (0x10, 0x40))
        self.assertEqual(spills["loop"]["kinds"], {"LDGSTS.128": 1, "FFMA": 1, "LDL.64": 1, "BRA": 1})
        self.assertEqual((straight["kernel"], straight["loop"]), ("straight", None))

    def test_what_is_demanded_and_there_passes(self):
        run = self.check(NESTED, "--no-local", "--min-ffma-share", "0.55", "--max-conflict-share", "0.2",
                         "--need", "LDS.128", "--need", "LDG.128")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("9 instructions, 5 FFMA, share 0.556", run.stdout)
        self.assertIn("2 FFMA with .reuse, 1 read three of one bank, 3 two", run.stdout)
        self.assertNotIn("FAILED", run.stdout)

    def test_each_demand_that_fails_is_named(self):
        for arguments, words in [(("--min-ffma-share", "0.9"), "FFMAs are 0.556 of the main loop, not 0.9"),
                                 (("--max-conflict-share", "0.1"), "0.200 of the FFMAs conflict, more than 0.1"),
                                 (("--need", "LDS.32"), "no LDS.32 in the main loop or around it"),
                                 (("--need", "LDGSTS.128"), "no LDGSTS.128 in the main loop or around it")]:
            run = self.check(NESTED, *arguments)
            self.assertEqual(run.returncode, 1, arguments)
            self.assertIn("FAILED: " + words, run.stdout)

    def test_local_memory_anywhere_fails(self):
        run = self.check(FLAT, "--no-local")
        self.assertEqual(run.returncode, 1)
        self.assertIn("FAILED: 2 accesses of local memory", run.stdout)

    def test_a_kernel_without_a_main_loop_meets_no_demand_on_it(self):
        straight = self.kernels(FLAT, "--min-ffma-share", "0.1")[1]
        self.assertEqual(straight["complaints"], ["no loop with FFMAs"])

    def test_what_holds_no_kernel_is_no_success(self):
        self.assertEqual(self.check("no code\n").returncode, 2)
        (self.folder / "text.cubin").write_text("no ELF file")
        run = subprocess.run([sys.executable, ROOT / "bench/kernels/check_sass.py", "--nvdisasm", "/bin/false",
                              self.folder / "text.cubin"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("is no cubin", run.stderr)


if __name__ == "__main__":
    unittest.main()
