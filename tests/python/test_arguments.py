# SPDX-License-Identifier: Apache-2.0
"""Arguments that matmul() refuses, each with a sentence that names the argument."""
import copy
import inspect
import pickle

import numpy as np
import pytest
from device_arrays import DeviceArray
from numpy.lib.stride_tricks import as_strided

import gemm_tune
from gemm_tune.lib import _core


def zeros(*shape, dtype=np.float32):
    return DeviceArray(np.zeros(shape, dtype))


A, B, OUT = zeros(3, 5), zeros(5, 4), zeros(3, 4)


@pytest.mark.parametrize("arguments, sentence", [
    ((zeros(3, 5, dtype=np.float64), B), "a is of the type '<f8': it must be float32"),
    ((A, zeros(5, 4, dtype=np.int32)), "b is of the type '<i4': it must be float32"),
    ((A, zeros(5, 4, dtype=np.float16), None, OUT), "b is float16 and a float32: both must have one type"),
    ((A, zeros(4, 5), None, OUT), r"b has shape \(4, 5\) and a \(3, 5\): b needs 5 rows"),
    ((zeros(2, 3, 5), zeros(3, 5, 4), None, OUT), r"b has shape \(3, 5, 4\) and a \(2, 3, 5\): the dimensions before the last two"),
    ((zeros(), B, None, OUT), "a is a single number"),
    ((A, B, None, zeros(4, 3)), r"out has shape \(4, 3\): it must be \(3, 4\)"),
    ((A, B, None, zeros(3, 4, dtype=np.float16)), "out is float16: it must be float32"),
    ((A, B, None, DeviceArray(np.zeros((6, 8), np.float32)[::2, ::2])), "out has strides .*must lie one after another"),
    ((zeros(2, 3, 5), B, None, DeviceArray(as_strided(OUT.array, (2, 3, 4), (0, 16, 4)))), "out has strides .*overlap"),
    ((A, B, zeros(3), OUT), r"bias has shape \(3,\): it must be \(4,\)"),
    ((A, B, zeros(4, dtype=np.float16), OUT), "bias is float16: it must be float32"),
    ((A, B, zeros(4), DeviceArray(np.zeros((4, 3), np.float32).T)), "out is stored by columns: with a bias"),
    ((DeviceArray(np.zeros((3, 10), np.float32)[:, ::2]), B, None, OUT), "a has strides that need a copy"),
    ((A, B, None, A), "out shares its memory with a"),
    ((A, B), "out is needed"),
    ((A, B, None, DeviceArray(OUT.array, data=(OUT.array.ctypes.data, True))), "out is read-only"),
    ((A, DeviceArray(B.array, mask=1)), "b has a mask"),
    ((DeviceArray(A.array, stream=1), DeviceArray(B.array, stream=2), None, OUT), "b is in use on another stream than a"),
    ((DeviceArray(np.zeros((1,) * 17, np.float32)), B), "a has 17 dimensions"),
    ((A, DeviceArray(np.zeros((5, 7), np.uint8)[:, :4], typestr="<f4", shape=(5, 1), strides=(7, 4))), "b has a stride of 7 bytes"),
])
def test_an_argument_is_refused_by_its_name(arguments, sentence):
    with pytest.raises(gemm_tune.ArgumentError, match=sentence):
        _core.calls_of(*arguments)


@pytest.mark.parametrize("operand, sentence", [
    (np.zeros((3, 5), np.float32), "a is in the memory of the CPU: it must be on a CUDA device"),
    ([[1.0]], "a is of the type list: it must be an array on a CUDA device"),
    (None, "a is of the type NoneType"),
    (A, "a is not in the memory of a CUDA device of this process"),
])
def test_memory_of_the_host_is_refused(operand, sentence):
    with pytest.raises(gemm_tune.ArgumentError, match=sentence):
        gemm_tune.matmul(operand, B, out=OUT)


def test_ctrl_c_while_an_array_describes_itself_is_no_lack_of_a_description():
    class Interrupted:
        @property
        def __cuda_array_interface__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gemm_tune.matmul(Interrupted(), B, out=OUT)


@pytest.mark.parametrize("arguments, keywords, sentence", [
    ((A,), {}, "needs the argument 'b'"),
    ((A, B, None, OUT, 1), {}, "at most 4 arguments"),
    ((A, B), {"c": OUT}, "unknown argument 'c'"),
    ((A, B), {"a": A}, "two values for 'a'"),
])
def test_arguments_are_counted_and_named_as_of_any_function(arguments, keywords, sentence):
    with pytest.raises(TypeError, match=sentence):
        gemm_tune.matmul(*arguments, **keywords)


def test_matmul_says_its_signature_and_can_be_copied():
    assert str(inspect.signature(gemm_tune.matmul)) == "(a, b, bias=None, out=None)"
    assert copy.deepcopy(gemm_tune.matmul) is gemm_tune.matmul
    assert pickle.loads(pickle.dumps(gemm_tune.matmul)) is gemm_tune.matmul


def test_errors_have_one_root_and_are_those_of_python_too():
    for error in (gemm_tune.ArgumentError, gemm_tune.DatabaseError, gemm_tune.DeviceError, gemm_tune.InternalError, gemm_tune.NoKernelError):
        assert issubclass(error, gemm_tune.Error)
    assert issubclass(gemm_tune.ArgumentError, ValueError) and issubclass(gemm_tune.DeviceError, RuntimeError)
