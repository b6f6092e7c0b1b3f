# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy that pass for arrays on a device, and gt_gemm over them."""
import ctypes

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


class ManagedTensor(ctypes.Structure):
    """Of DLPack before version 1."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("dimensions", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class Capsule:
    """By __dlpack__ only, on DLPack's device of the CPU; fields may be any."""

    def __init__(self, array, place=(1, 0), name=b"dltensor", fails=None, **fields):
        self.array, self.place, self.name, self.fails = array, place, name, fails
        numbers = lambda values: None if values is None else (ctypes.c_int64 * len(values))(*values)  # noqa: E731
        shape, strides = fields.pop("shape", array.shape), fields.pop("strides", None)
        self.kept = [numbers(shape), numbers(strides)]
        self.tensor = ManagedTensor(array.ctypes.data, 1, 0, array.ndim, 2, 8 * array.itemsize, 1,
                                    *(None if one is None else ctypes.cast(one, ctypes.POINTER(ctypes.c_int64)) for one in self.kept))
        for field, value in fields.items():
            setattr(self.tensor, field, value)

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, stream=None):
        if self.fails is not None:
            raise self.fails
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), self.name, None)


def dtype_at(address, dtype, count):
    """The memory from the address on, as many elements."""
    interface = {"version": 3, "shape": (count,), "typestr": np.dtype(dtype).str, "data": (address, False), "strides": None}
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def stored(address, lines, length, ld, dtype):
    memory = dtype_at(address, dtype, (lines - 1) * ld + length)
    return as_strided(memory, (lines, length), (ld * memory.itemsize, memory.itemsize))


def gemm(call, dtypes, dtype_of_result):
    """What gt_gemm does, by its documentation, with alpha 1 and beta 0. dtypes: of A and B."""
    M, N, K = call["M"], call["N"], call["K"]
    by_columns = call["column_major"]

    def operand(which, ld, rows, columns, transposed, entry):
        # As stored: a row-major operand that is not transposed, and a column-major one that is, lie by rows.
        dtype = dtypes[which]
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
        gemm(call, {"A": a.dtype, "B": b.dtype}, out.dtype)
    return calls
