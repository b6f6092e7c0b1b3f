# SPDX-License-Identifier: Apache-2.0
"""Arguments that matmul() refuses, each with a sentence that names the argument."""
import copy
import inspect
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from device_arrays import Capsule, DeviceArray
from numpy.lib.stride_tricks import as_strided

import gemm_tune
from gemm_tune.lib import _core


def zeros(*shape, dtype=np.float32):
    return DeviceArray(np.zeros(shape, dtype))


A, B, OUT = zeros(3, 5), zeros(5, 4), zeros(3, 4)


@pytest.mark.parametrize("arguments, sentence", [
    ((zeros(3, 5, dtype=np.float64), B), "a is of the type '<f8': it must be one of float32"),
    ((A, zeros(5, 4, dtype=np.int64)), "b is of the type '<i8': it must be one of float32"),
    ((A, zeros(5, 4, dtype=np.float16), None, zeros(3, 4, dtype=np.float16)), "a is float32, b float16 and out float16: no kernel family has kernels of the types"),
    ((A, zeros(4, 5), None, OUT), r"b has shape \(4, 5\) and a \(3, 5\): b needs 5 rows"),
    ((zeros(2, 3, 5), zeros(3, 5, 4), None, OUT), r"b has shape \(3, 5, 4\) and a \(2, 3, 5\): the dimensions before the last two"),
    ((zeros(), B, None, OUT), "a is a single number"),
    ((A, B, None, zeros(4, 3)), r"out has shape \(4, 3\): it must be \(3, 4\)"),
    ((A, B, None, zeros(3, 4, dtype=np.float16)), "a is float32, b float32 and out float16: no kernel family has kernels of the types"),
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


class Hostile:
    """Each of its methods fails."""

    def fail(self, *_):
        raise RuntimeError("of another library")

    __index__ = __len__ = __getitem__ = __bool__ = __str__ = __repr__ = __eq__ = fail
    __hash__ = None


def described(**fields):
    return DeviceArray(A.array, **fields)


@pytest.mark.parametrize("operand, sentence", [
    (described(shape=3), "a has a __cuda_array_interface__ whose 'shape' is 3: it must be a tuple of whole numbers"),
    (described(shape=(3, 5.0)), r"'shape' is \(3, 5.0\): it must be a tuple of whole numbers"),
    (described(shape=(3, 2**64)), "'shape' is .*: it must be a tuple of whole numbers"),
    (described(shape=Hostile()), "'shape' is of the type test_arguments.Hostile: it must be a tuple"),
    (described(shape=(Hostile(), 5)), "'shape' is of the type tuple: it must be a tuple of whole numbers"),
    (described(shape=None), "without 'shape'"),
    (described(shape=(-3, 5)), r"a has shape \(-3, 5\): no size may be negative"),
    (described(shape=(2**40, 2**40)), "a has shape .* farther than any memory"),
    (described(strides=(2**62, 4)), "a has shape .* farther than any memory"),
    (described(strides=(-2**63, 4)), "a has shape .* farther than any memory"),
    (described(strides=(20,)), r"'strides' is \(20,\): it must be as long as 'shape', 2"),
    (described(strides=(20, 4, 4)), "'strides' is .*: it must be as long as 'shape', 2"),
    (described(typestr=4), "'typestr' is 4: it must be a text"),
    (described(typestr="<f4" + "x" * 10**6), "a is of the type '<f4x{56}...: it must be one of float32"),
    (described(data=5), r"'data' is 5: it must be \(address, read-only\)"),
    (described(data=(-1, False)), r"'data' is \(-1, False\): it must be \(address, read-only\)"),
    (described(data=("x", False)), r"'data' is \('x', False\): it must be"),
    (described(stream=-1), "'stream' is -1: it must be an address"),
    (described(stream=1.5), "'stream' is 1.5: it must be an address"),
])
def test_a_field_that_cannot_be_read_is_named_with_the_argument(operand, sentence):
    with pytest.raises(gemm_tune.ArgumentError, match=sentence) as raised:
        _core.calls_of(operand, B, None, OUT)
    assert str(raised.value).startswith("a ")


def test_integers_of_numpy_describe_an_array():
    address = np.uint64(A.array.ctypes.data)
    [call] = _core.calls_of(described(shape=np.array([3, 5]), data=(address, False), stream=np.int64(1)), B, None,
                            DeviceArray(OUT.array, stream=1))
    assert (call["M"], call["K"], call["A"]) == (3, 5, int(address))


def test_any_description_is_taken_or_refused_by_the_arguments_name():
    values = [None, 0, -1, 3, 2**62, 2**63, -2**64, 1.5, float("nan"), "x", b"<f4", (), (3,), (3, 5), [3, 5], (5, 3, 1), (-3, 5), (2**62, 4),
              (None, 5), {}, {3, 5}, Hostile(), (Hostile(), 5), (1,) * 17, (A.array.ctypes.data, Hostile()), np.array([3, 5]), object(), range(2)]
    chance = random.Random(0)
    for _ in range(5000):
        fields = {key: chance.choice(values) for key in chance.sample(["shape", "strides", "typestr", "data", "mask", "stream"], 2)}
        which = chance.randrange(4)
        arguments = [A, B, zeros(4), OUT]
        arguments[which] = DeviceArray(arguments[which].array, **fields)
        try:
            _core.calls_of(*arguments)
        except gemm_tune.ArgumentError as error:
            assert str(error).split()[0] in ("a", "b", "bias", "out"), error


@pytest.mark.parametrize("fields, sentence", [
    ({"dimensions": -1}, "a has -1 dimensions"),
    ({"dimensions": 2**31 - 1}, "a has 2147483647 dimensions"),
    ({"shape": None}, "a gives a tensor of DLPack without its shape"),
    ({"shape": (-3, 5)}, r"a has shape \(-3, 5\): no size may be negative"),
    ({"shape": (2**62, 2**62)}, "a has shape .* farther than any memory"),
    ({"strides": (2**62, 1)}, "a has shape .* farther than any memory"),
    ({"bits": 64}, "a is float64"),
    ({"code": 200}, "a is a type of 32"),
    ({"lanes": 4}, "a is float32"),
    ({"place": None}, r"a fails in its __dlpack_device__\(\): TypeError"),
    ({"place": (1,)}, r"a fails in its __dlpack_device__\(\): IndexError"),
    ({"place": ("cuda", 0)}, r"a fails in its __dlpack_device__\(\): TypeError"),
    ({"place": Hostile()}, r"a fails in its __dlpack_device__\(\): RuntimeError"),
    ({"name": b"used_dltensor"}, r"a gives no tensor by its __dlpack__\(\)"),
    ({"fails": BufferError("no memory to share")}, r"a fails in its __dlpack__\(\): BufferError\('no memory to share'\)"),
])
def test_a_tensor_of_dlpack_is_refused_by_the_arguments_name(fields, sentence):
    with pytest.raises(gemm_tune.ArgumentError, match=sentence):
        _core.calls_of(Capsule(A.array, **fields), B, None, OUT)


def test_a_tensor_of_dlpack_is_multiplied():
    [call] = _core.calls_of(Capsule(A.array), Capsule(B.array), None, Capsule(OUT.array))
    assert (call["M"], call["N"], call["K"], call["A"], call["lda"]) == (3, 4, 5, A.array.ctypes.data, 5)


def test_types_are_not_kept_without_end():
    for _ in range(200):
        assert len(_core.calls_of(type("Array", (DeviceArray,), {})(A.array), B, None, OUT)) == 1


def test_an_object_that_lies_about_its_class_leaves_no_exception_behind():
    class Liar(DeviceArray):
        @property
        def __class__(self):
            raise RuntimeError("of another library")

    assert len(_core.calls_of(Liar(A.array), B, None, OUT)) == 1


def test_an_interpreter_of_its_own_lock_is_refused():
    script = "import _xxsubinterpreters as s; s.run_string(s.create(), 'import gemm_tune')"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert sys.version_info[:2] != (3, 12) or "does not support loading in subinterpreters" in ran.stderr
    assert ran.returncode in (0, 1)  # and not killed by a signal


def test_ctrl_c_while_an_array_describes_itself_is_no_lack_of_a_description():
    class Interrupted:
        @property
        def __cuda_array_interface__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gemm_tune.matmul(Interrupted(), B, out=OUT)


@pytest.mark.parametrize("arguments, keywords, sentence", [
    ((A,), {}, "needs the argument 'b'"),
    ((A, B, None, OUT, None, None, 1), {}, "at most 6 arguments"),
    ((A, B), {"c": OUT}, "unknown argument 'c'"),
    ((A, B), {"a": A}, "two values for 'a'"),
])
def test_arguments_are_counted_and_named_as_of_any_function(arguments, keywords, sentence):
    with pytest.raises(TypeError, match=sentence):
        gemm_tune.matmul(*arguments, **keywords)


def test_matmul_says_its_signature_and_can_be_copied():
    assert str(inspect.signature(gemm_tune.matmul)) == "(a, b, bias=None, out=None, activation=None, accuracy=None)"
    assert copy.deepcopy(gemm_tune.matmul) is gemm_tune.matmul
    assert pickle.loads(pickle.dumps(gemm_tune.matmul)) is gemm_tune.matmul


def test_errors_have_one_root_and_are_those_of_python_too():
    for error in (gemm_tune.ArgumentError, gemm_tune.DatabaseError, gemm_tune.DeviceError, gemm_tune.InternalError, gemm_tune.NoKernelError):
        assert issubclass(error, gemm_tune.Error)
    assert issubclass(gemm_tune.ArgumentError, ValueError) and issubclass(gemm_tune.DeviceError, RuntimeError)
