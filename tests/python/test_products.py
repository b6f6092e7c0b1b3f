# SPDX-License-Identifier: Apache-2.0
"""What matmul() asks gt_gemm for, carried out by NumPy."""
import itertools

import numpy as np
import pytest
from device_arrays import DeviceArray, multiply

import gemm_tune
from gemm_tune.lib import _core

RANDOM = np.random.default_rng(1)


def rand(*shape, dtype=np.float32):
    return RANDOM.random(shape, dtype=np.float32).astype(dtype)


def check(a, b, bias=None, out=None, calls=1):
    expected = np.matmul(a, b) + (0 if bias is None else bias)
    if out is None:
        out = np.full(expected.shape, np.nan, a.dtype)
    made = multiply(a, b, bias, out)
    assert len(made) == calls
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    return made


# Matrices of this shape in every order of storage that gt_gemm takes.
def stored_ways(rows, columns):
    yield "by rows", rand(rows, columns)
    yield "by columns", rand(columns, rows).T
    yield "by rows, apart", rand(rows, columns + 3)[:, 1:columns + 1]
    yield "by columns, apart", rand(columns, rows + 2).T[:rows]


SIZES = [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (1, 1, 5), (1, 4, 1)]


@pytest.mark.parametrize("sizes", SIZES)
def test_every_order_of_storage_is_one_call_without_a_copy(sizes):
    M, N, K = sizes
    for (_, a), (_, b), (_, out) in itertools.product(stored_ways(M, K), stored_ways(K, N), stored_ways(M, N)):
        [call] = check(a, b, out=out)
        assert (call["A"], call["B"], call["D"]) == (a.ctypes.data, b.ctypes.data, out.ctypes.data)


def test_packed_matrices_are_the_problem_that_is_tuned():
    [call] = check(rand(3, 5), rand(5, 4))
    assert call["problem"] == "3x4x5" and (call["lda"], call["ldb"], call["ldc"]) == (5, 4, 4)
    assert check(rand(3, 5), rand(4, 5).T)[0]["problem"] == "3x4x5:layout=nt"
    assert check(rand(5, 3).T, rand(5, 4))[0]["problem"] == "3x4x5:layout=tn"
    assert check(rand(2, 3, 5), rand(2, 5, 4))[0]["problem"] == "3x4x5:batch=2"


def test_operands_of_two_types_are_one_call_of_both():
    def problem(type_a, type_b):
        return check(rand(3, 5, dtype=type_a), rand(4, 5, dtype=type_b).T, out=np.empty((3, 4), np.float32))[0]["problem"]

    assert problem(np.float32, np.float16) == "3x4x5:type=f32/f16/f32/f32:layout=nt"
    assert problem(np.float16, np.float32) == "3x4x5:type=f16/f32/f32/f32:layout=nt"


def test_a_problem_has_the_alignment_of_the_call():
    def problem(a, b, out=None):
        return check(a, b, out=out)[0]["problem"]

    assert problem(rand(8, 20)[:, 1:17], rand(16, 8)) == "8x8x16:align=4/16/16/16"
    assert problem(rand(8, 16), rand(16, 10)[:, 2:]) == "8x8x16:align=16/8/16/16"
    assert problem(rand(8, 16), rand(16, 8), np.empty((8, 12), np.float32)[:, 2:10]) == "8x8x16:align=16/16/8/8"
    assert problem(rand(4, 8, 16)[::2], rand(2, 16, 8)) == "8x8x16:batch=2"


def test_a_result_by_columns_is_the_turned_product():
    [call] = check(rand(3, 5), rand(5, 4), out=np.empty((4, 3), np.float32).T)
    assert call["column_major"] and call["problem"] == "4x3x5:layout=tt"


def test_a_batch_that_shares_b_is_one_matrix():
    [call] = check(rand(2, 3, 5), rand(5, 4))
    assert (call["M"], call["batch"]) == (6, 1)
    [call] = check(rand(2, 7, 3, 5), rand(1, 5, 4), rand(4))
    assert (call["M"], call["batch"]) == (42, 1)
    # The last row of each sequence: as rows that lie apart.
    [call] = check(rand(6, 9, 5)[:, -1:], rand(5, 4))
    assert (call["M"], call["lda"]) == (6, 45)


def test_batches_are_one_call_where_their_entries_lie_evenly():
    [call] = check(rand(2, 3, 3, 5), rand(2, 3, 5, 4))
    assert call["batch"] == 6
    [call] = check(rand(3, 5), rand(7, 5, 4))
    assert (call["batch"], call["stride_a"]) == (7, 0)
    [call] = check(rand(7, 3, 5), rand(7, 4, 5).transpose(0, 2, 1))
    assert call["trans_b"]


def test_heads_of_attention_are_a_call_for_each_entry_of_the_shorter_dimension():
    query, key = rand(2, 9, 5, 4).transpose(0, 2, 1, 3), rand(2, 9, 5, 4).transpose(0, 2, 3, 1)
    calls = check(query, key, calls=2)
    assert all(call["batch"] == 5 for call in calls)
    check(rand(2, 1, 3, 5), rand(3, 5, 4), calls=2)
    check(rand(2, 3, 2, 3, 5).transpose(2, 1, 0, 3, 4), rand(2, 3, 2, 5, 4), calls=4)


def test_vectors_are_a_row_on_the_left_and_a_column_on_the_right():
    check(rand(5), rand(5, 4))
    check(rand(3, 5), rand(5))
    check(rand(5), rand(5))
    check(rand(2, 3, 5), rand(5))
    check(rand(5), rand(2, 5, 4))
    check(rand(10)[::2], rand(5, 4))


@pytest.mark.parametrize("shapes", [((0, 5), (5, 4)), ((3, 5), (5, 0)), ((0, 3, 5), (5, 4)), ((2, 0, 5), (2, 5, 4)), ((0,), (0, 0))])
def test_a_result_without_elements_makes_no_call(shapes):
    check(rand(*shapes[0]), rand(*shapes[1]), calls=0)


def test_a_sum_of_nothing_is_zero_plus_the_bias():
    check(rand(3, 0), rand(0, 4))
    check(rand(3, 0), rand(0, 4), rand(4))
    check(rand(0), rand(0))


def test_types_of_16_bits_give_their_type_or_float32():
    a, b = rand(3, 5, dtype=np.float16), rand(5, 4, dtype=np.float16)
    assert multiply(a, b, out=np.empty((3, 4), np.float16))[0]["problem"] == "3x4x5:type=f16"
    assert multiply(a, b, out=np.empty((3, 4), np.float32))[0]["problem"] == "3x4x5:type=f16/f16/f32/f32"


def test_random_views_are_multiplied_right():
    for _ in range(300):
        batch = [int(n) for n in RANDOM.integers(1, 4, RANDOM.integers(0, 3))]
        M, N, K = (int(n) for n in RANDOM.integers(1, 6, 3))

        def view(rows, columns):
            axes = len(batch) + 2
            order = RANDOM.permutation(axes)
            if RANDOM.random() < 0.7:  # the matrix by rows or by columns, its batch in any order
                order = [*RANDOM.permutation(axes - 2), *(axes - 2 + RANDOM.permutation(2))]
            shape = [*batch, rows, columns]
            array = rand(*(shape[i] for i in order)).transpose(np.argsort(order))
            drop = len(batch) and RANDOM.random() < 0.2
            return array[0] if drop else array

        a, b = view(M, K), view(K, N)
        expected = np.matmul(a, b)
        out = np.empty(expected.shape, np.float32)
        try:
            multiply(a, b, out=out)
        except ValueError as error:
            assert "needs a copy" in str(error) or "need a copy" in str(error)
            continue
        np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_arrays_that_have_dlpack_only_are_read_by_it():
    a, b, out = rand(3, 5), rand(5, 8)[:, ::2].T.copy().T, np.empty((3, 4), np.float32)
    [call] = _core.calls_of(a, b, None, out)
    assert call["problem"] == "3x4x5:layout=nt" and (call["A"], call["B"]) == (a.ctypes.data, b.ctypes.data)


def test_an_activation_is_part_of_the_problem():
    a, b, out = DeviceArray(rand(3, 5)), DeviceArray(rand(5, 4)), DeviceArray(np.empty((3, 4), np.float32))
    bias = DeviceArray(rand(4))
    calls = _core.calls_of(a, b, bias, out, "gelu_tanh")
    assert [call["problem"] for call in calls] == ["3x4x5:epilogue=bias_column+gelu_tanh"]
    assert [call["problem"] for call in _core.calls_of(a, b, None, out, "relu")] == ["3x4x5:epilogue=relu"]
    for wrong in ("residual", "", 7):
        with pytest.raises(gemm_tune.ArgumentError, match="activation"):
            _core.calls_of(a, b, None, out, wrong)


def test_a_prepared_b_is_the_array_in_its_class():
    a, b, out = DeviceArray(rand(3, 5)), DeviceArray(rand(5, 4)), DeviceArray(np.empty((3, 4), np.float32))
    prepared = _core.prepare_nothing(b, "fp32_f16x3")
    assert prepared.array is b and prepared.accuracy == "fp32_f16x3"
    [call] = _core.calls_of(a, prepared, None, out)
    assert call["problem"] == "3x4x5:type=f32+fp32_f16x3" and call["B"] == b.array.ctypes.data
    assert _core.calls_of(a, prepared, None, out, None, "fp32")[0]["problem"] == "3x4x5"
    # Rows of a batch that lie evenly are one matrix, others are not.
    out = DeviceArray(np.empty((2, 3, 4), np.float32))
    [call] = _core.calls_of(DeviceArray(rand(2, 3, 5)), prepared, None, out)
    assert call["M"] == 6
    with pytest.raises(gemm_tune.ArgumentError, match="a is a batch beside a prepared b"):
        _core.calls_of(DeviceArray(rand(2, 4, 5)[:, :3]), prepared, None, out)


@pytest.mark.parametrize("b, accuracy, sentence", [
    (rand(5), "fp32_f16x3", r"b has shape \(5,\): it must be a matrix"),
    (rand(2, 5, 4), "fp32_f16x3", "must be a matrix"),
    (rand(10, 8)[::2, ::2], "fp32_f16x3", "b has strides that need a copy"),
    (rand(5, 4), "f16x3", "accuracy is 'f16x3': it must be one of fp32, "),
    (rand(5, 4), None, "accuracy must be a text"),
])
def test_what_cannot_be_prepared_is_refused(b, accuracy, sentence):
    with pytest.raises(gemm_tune.ArgumentError, match=sentence):
        _core.prepare_nothing(DeviceArray(b), accuracy)


def test_an_accuracy_class_is_part_of_the_problem():
    a, b, out = DeviceArray(rand(3, 5)), DeviceArray(rand(5, 4)), DeviceArray(np.empty((3, 4), np.float32))
    [call] = _core.calls_of(a, b, None, out, None, "fp32_f16x3")
    assert call["problem"] == "3x4x5:type=f32+fp32_f16x3"
    for wrong, sentence in (("fp16", "must be one of fp32, "), ("sums_fp16", "must be one of fp32, "), ("mixed", "must be one of fp32, "), (7, "a text")):
        with pytest.raises(gemm_tune.ArgumentError, match=sentence):
            _core.calls_of(a, b, None, out, None, wrong)
