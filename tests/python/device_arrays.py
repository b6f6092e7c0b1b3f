# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy that pass for arrays on a device, and gt_gemm over them."""
import numpy as np
from numpy.lib.stride_tricks import as_strided

from gemm_tune.lib import _core


class DeviceArray:
    """By __cuda_array_interface__; the memory is the host's."""

    def __init__(self, array, **fields):
        self.array = array
        self.fields = fields

    @property
    def __cuda_array_interface__(self):
        interface = self.array.__array_interface__
        return {"version": 3, "shape": interface["shape"], "strides": interface["strides"],
                "typestr": interface["typestr"], "data": interface["data"], **self.fields}


def dtype_at(address, dtype, count):
    """The memory from the address on, as many elements."""
    interface = {"version": 3, "shape": (count,), "typestr": np.dtype(dtype).str, "data": (address, False), "strides": None}
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def stored(address, lines, length, ld, dtype):
    memory = dtype_at(address, dtype, (lines - 1) * ld + length)
    return as_strided(memory, (lines, length), (ld * memory.itemsize, memory.itemsize))


def gemm(call, dtype, dtype_of_result):
    """What gt_gemm does, by its documentation, with alpha 1 and beta 0."""
    M, N, K = call["M"], call["N"], call["K"]
    by_columns = call["column_major"]

    def operand(which, ld, rows, columns, transposed, entry):
        # As stored: a row-major operand that is not transposed, and a column-major one that is, lie by rows.
        address = call[which] + entry * call["stride_" + which.lower()] * np.dtype(dtype).itemsize
        if transposed == by_columns:
            assert call[ld] >= columns
            return stored(address, rows, columns, call[ld], dtype)
        assert call[ld] >= rows
        return stored(address, columns, rows, call[ld], dtype).T

    for entry in range(call["batch"]):
        address = call["D"] + entry * call["stride_c"] * np.dtype(dtype_of_result).itemsize
        D = stored(address, N, M, call["ldc"], dtype_of_result).T if by_columns else stored(address, M, N, call["ldc"], dtype_of_result)
        if K == 0:
            D[...] = 0
        else:
            D[...] = operand("A", "lda", M, K, call["trans_a"], entry) @ operand("B", "ldb", K, N, call["trans_b"], entry)
        if call["bias"]:
            assert not by_columns
            D += dtype_at(call["bias"], dtype_of_result, N)


def multiply(a, b, bias=None, out=None):
    """What matmul() does with out given, and the calls that it makes of it."""
    wrapped = [None if x is None else DeviceArray(x) for x in (a, b, bias, out)]
    calls = _core.calls_of(*wrapped)
    for call in calls:
        gemm(call, a.dtype, out.dtype)
    return calls
