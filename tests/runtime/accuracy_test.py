#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every family and feature on a GPU: errors within 1.5 of cublasSgemm's, equal bits in each launch. usage: PROGRAM
Exit code 77 without a GPU; 1 where GT_REQUIRE_GPU is 1."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import skip_without_gpu  # noqa: E402

skip_without_gpu()
sys.exit(subprocess.run([sys.argv[1], pathlib.Path(__file__).with_name("every_feature.txt"), "20"]).returncode)
