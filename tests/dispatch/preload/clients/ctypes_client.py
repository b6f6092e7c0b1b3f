#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctypes_client.py DRIVER CUBLAS: loads both, calls cublasSgemm_v2 by ctypes, and prints who did it. Exits with 5.

A fake cuBLAS's handle may be zeros, and its status is 42.
"""
import ctypes
import sys

driver, cublas = map(ctypes.CDLL, sys.argv[1:])
one, matrix = ctypes.c_float(1), (ctypes.c_double * 2)()
at, scalar = ctypes.byref(matrix), ctypes.byref(one)
status = cublas.cublasSgemm_v2(ctypes.byref(ctypes.create_string_buffer(256)), 0, 0, 64, 64, 64, scalar, at, 64, at, 64,
                               scalar, at, 64)
print({0: "gemm-tune", 42: "cublas"}[status])
sys.exit(5)
