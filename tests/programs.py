# SPDX-License-Identifier: Apache-2.0
"""What tests that run programs share: a folder, refusals, programs in others' places, and the GPU that there is or is not."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


def architecture():
    """ "sm_90" of the first GPU, or None."""
    if shutil.which("nvidia-smi") is None:
        return None
    done = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True)
    return "sm_" + done.stdout.split()[0].replace(".", "") if done.returncode == 0 and done.stdout.strip() else None


def skip_without_gpu():
    """Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
    if architecture() is None:
        print("no CUDA device")
        sys.exit(1 if os.environ.get("GT_REQUIRE_GPU") == "1" else 77)


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fake(self, name, text):
        """A program in the folder: {python} in its text stands for this interpreter."""
        program = self.folder / name
        program.write_text(text.format(python=sys.executable))
        program.chmod(0o755)
        return program


class OnGpuTest(FolderTest):
    """Programs on a GPU: of the folder `programs`, with a sample database for the GPU at hand that `make_database` writes."""
    programs = make_database = None

    def setUp(self):
        super().setUp()
        self.db, self.cache = str(self.folder / "tune.db"), str(self.folder / "cache")
        subprocess.run([self.make_database, self.db, architecture()], check=True)

    def run_program(self, program, *arguments):
        done = subprocess.run([self.programs / program, *arguments], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout.splitlines()


class WithoutGpuTest(unittest.TestCase):
    """Programs of the folder `programs` where no GPU is seen, whatever the machine has."""
    programs = None

    def run_program(self, program, *arguments):
        return subprocess.run([self.programs / program, *arguments], capture_output=True, text=True,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    def refused(self, code, word, program, *arguments):
        done = self.run_program(program, *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertIn(word, done.stderr)

    def needs_a_gpu(self, program, *arguments):
        done = self.run_program(program, *arguments)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done)
        self.assertRegex(done.stderr, rf"^{program}: .*(driver|GPU|device).*\n$")
