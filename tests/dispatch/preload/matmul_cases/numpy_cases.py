# SPDX-License-Identifier: Apache-2.0
"""The products of CuPy's own tests (tests/cupy_tests/math_tests/test_matmul.py, linalg_tests/test_product.py) and of JAX's
(tests/lax_test.py, tests/lax_numpy_test.py), written anew: their shapes, strides and types. Exact values are numpy's in fp64."""
import itertools

import numpy

from check import share_of_bound, tell

PAIRS = [((3, 2), (2, 4)), ((3, 0), (0, 4)), ((0, 2), (2, 4)), ((3, 2), (2, 0)), ((2,), (2, 4)), ((3, 2), (2,)), ((2,), (2,)),
         ((0,), (0,)), ((5, 3, 2), (5, 2, 4)), ((0, 3, 2), (0, 2, 4)), ((5, 3, 2), (2, 4)), ((3, 2), (5, 2, 4)),
         ((5, 3, 2), (1, 2, 4)), ((1, 3, 2), (5, 2, 4)), ((5, 3, 2), (2,)), ((5, 3, 0), (0,)), ((2,), (5, 2, 4)),
         ((2, 2, 3, 2), (2, 2, 2, 4)), ((6, 5, 3, 2), (2, 4)), ((3, 2), (6, 5, 2, 4)), ((1, 5, 3, 2), (6, 1, 2, 4)),
         ((6, 1, 3, 2), (1, 5, 2, 4)), ((6, 5, 3, 2), (2,)), ((2,), (6, 5, 2, 4)), ((1, 3, 3), (10, 1, 3, 1)),
         ((32, 64), (64, 96)), ((100, 200), (200, 300)), ((300, 100), (100, 200)), ((2, 5, 3, 64), (2, 5, 64, 4)),
         ((64, 64, 33), (64, 33, 40)), ((256, 1024), (1024, 512)), ((1000, 1000), (1000, 1000))]
TENSORDOTS = [((2, 3, 4), (4, 5), 1), ((3, 4, 5), (4, 5, 6), 2), ((2, 3, 4, 5), (5, 4, 6), ((3, 2), (0, 1))),
              ((4, 3, 2), (5, 3, 4), ((1, 0), (1, 2))), ((64, 32, 8), (32, 8, 48), 2)]
# Left, right, their contracted dimensions, their batch dimensions.
DOT_GENERALS = [((5,), (5,), ([0], [0]), ([], [])), ((5, 7), (5,), ([0], [0]), ([], [])), ((7, 5), (5,), ([1], [0]), ([], [])),
                ((3, 5), (2, 5), ([1], [1]), ([], [])), ((5, 3), (5, 2), ([0], [0]), ([], [])),
                ((5, 3, 2), (5, 2, 4), ([0], [0]), ([], [])), ((5, 3, 2), (5, 2, 4), ([0, 2], [0, 1]), ([], [])),
                ((5, 3, 2), (3, 5, 2, 4), ([0, 2], [1, 2]), ([], [])), ((1, 2, 2, 3), (1, 2, 3, 1), ([1], [1]), ([], [])),
                ((3, 3, 2), (3, 2, 4), ([2], [1]), ([0], [0])), ((3, 3, 2), (2, 3, 4), ([2], [0]), ([0], [1])),
                ((3, 4, 2, 4), (3, 4, 3, 2), ([2], [3]), ([0, 1], [0, 1])), ((96, 200), (120, 200), ([1], [1]), ([], [])),
                ((200, 96), (200, 120), ([0], [0]), ([], [])), ((8, 96, 64), (8, 80, 64), ([2], [2]), ([0], [0])),
                ((96, 8, 64), (80, 8, 64), ([2], [2]), ([1], [1])), ((512, 1000), (1000, 257), ([1], [0]), ([], []))]


class Cases:
    """to: numpy's array -> the library's, back: the reverse."""

    def __init__(self, to, back):
        self.to, self.back, self.random = to, back, numpy.random.default_rng(1)

    def rand(self, shape, dtype):
        values = self.random.standard_normal(shape) / 2
        if "complex" in dtype:
            values = values + 0.5j * self.random.standard_normal(shape)
        return self.to(values, dtype)

    def check(self, name, op, of_numpy, operands, dtype, K):
        """op of the library's arrays, of_numpy of numpy's."""
        def wide(x):
            return numpy.asarray(self.back(x)).astype(numpy.complex128 if "complex" in dtype else numpy.float64)

        def do():
            result = op(*operands)
            exact, size = of_numpy(*map(wide, operands)), of_numpy(*(abs(wide(x)) for x in operands))
            return share_of_bound(wide(result), numpy.asarray(exact), numpy.asarray(size), dtype, K)

        tell(f"{name} {dtype}", do)

    def products(self, module, dtypes):
        for dtype, (left, right) in itertools.product(dtypes, PAIRS):
            self.check(f"matmul {left} {right}", module.matmul, numpy.matmul, (self.rand(left, dtype), self.rand(right, dtype)),
                       dtype, left[-1])
        for dtype, (left, right, axes) in itertools.product(dtypes, TENSORDOTS):
            a, b = self.rand(left, dtype), self.rand(right, dtype)
            K = int(numpy.prod(left)) // max(1, int(numpy.prod([left[i] for i in range(len(left)) if i not in (
                axes[0] if isinstance(axes, tuple) else range(len(left) - axes, len(left)))])))
            self.check(f"tensordot {left} {right} {axes}", lambda a, b: module.tensordot(a, b, axes),
                       lambda a, b: numpy.tensordot(a, b, axes), (a, b), dtype, K)
        for dtype in dtypes:
            for equation, left, right, K in (("ij,kj->ik", (33, 20), (41, 20), 20), ("bij,bkj->bik", (6, 24, 16), (6, 18, 16), 16),
                                             ("bqhd,bkhd->bhqk", (2, 33, 4, 16), (2, 17, 4, 16), 16)):
                self.check(f"einsum {equation}", lambda a, b: module.einsum(equation, a, b),
                           lambda a, b: numpy.einsum(equation, a, b), (self.rand(left, dtype), self.rand(right, dtype)), dtype, K)
            self.check("dot", module.dot, numpy.dot, (self.rand((20, 30), dtype), self.rand((30, 40), dtype)), dtype, 30)
            self.check("inner", module.inner, numpy.inner, (self.rand((20, 30), dtype), self.rand((40, 30), dtype)), dtype, 30)
            self.check("outer", module.outer, numpy.outer, (self.rand((20,), dtype), self.rand((30,), dtype)), dtype, 1)


def run_cupy():
    import cupy
    cases = Cases(lambda values, dtype: cupy.asarray(values.astype(dtype)), cupy.asnumpy)
    dtypes = ("float32", "float16", "float64", "complex64", "complex128")
    cases.products(cupy, dtypes)
    lays = {"F": cupy.asfortranarray, "padded": lambda x: cupy.pad(x, ((0, 0), (0, 3)))[:, :x.shape[1]],
            "stepped": lambda x: cupy.repeat(x, 2, axis=1)[:, ::2], "reversed": lambda x: cupy.ascontiguousarray(x[:, ::-1])[:, ::-1],
            "broadcast": lambda x: cupy.broadcast_to(x[:1], x.shape), "offset": lambda x: cupy.concatenate(
                [x[0, :1], x.ravel()])[1:].reshape(x.shape)}
    for dtype, (name, left), (other, right) in itertools.product(("float32", "float16"), lays.items(), lays.items()):
        cases.check(f"matmul {name} {other}", cupy.matmul, numpy.matmul,
                    (left(cases.rand((48, 40), dtype)), right(cases.rand((40, 56), dtype))), dtype, 40)
    for dtype in dtypes:
        def into(a, b):
            around = cupy.full((20, 40), 7, dtype)
            cupy.matmul(a, b, out=around[:, :30])
            if not (around[:, 30:] == 7).all():
                raise AssertionError("elements beside the output were written")
            return around[:, :30]

        cases.check("matmul out", into, numpy.matmul, (cases.rand((20, 24), dtype), cases.rand((24, 30), dtype)), dtype, 24)
        cases.check("matmul of itself", lambda a: cupy.matmul(a, a, out=a.copy()), lambda a: a @ a, (cases.rand((90, 90), dtype),), dtype, 90)
    cases.check("batch of 65536", cupy.matmul, numpy.matmul, (cases.rand((256, 256, 3, 2), "float32"), cases.rand((256, 256, 2, 4), "float32")),
                "float32", 2)


def run_jax():
    import jax
    import jax.numpy
    jax.config.update("jax_default_matmul_precision", "highest")
    jax.config.update("jax_enable_x64", True)
    cases = Cases(lambda values, dtype: jax.numpy.asarray(values).astype(dtype),
                  lambda x: numpy.asarray(x.astype("float32") if x.dtype == "bfloat16" else x))
    cases.products(jax.numpy, ("float32", "bfloat16"))
    for dtype, (left, right, contracted, batch) in itertools.product(("float32", "bfloat16", "float16", "float64", "complex64"), DOT_GENERALS):
        def exact(a, b):
            free_a, free_b = ([i for i in range(x.ndim) if i not in (*contracted[side], *batch[side])] for side, x in ((0, a), (1, b)))
            names_a, names_b = list(range(a.ndim)), [0] * b.ndim
            for one, other in zip((*contracted[0], *batch[0]), (*contracted[1], *batch[1])):
                names_b[other] = one
            for number, i in enumerate(free_b):
                names_b[i] = 20 + number
            return numpy.einsum(a, names_a, b, names_b, [*batch[0], *free_a, *(names_b[i] for i in free_b)])

        K = int(numpy.prod([left[i] for i in contracted[0]]))
        cases.check(f"dot_general {left} {right} {contracted} {batch}",
                    jax.jit(lambda a, b: jax.lax.dot_general(a, b, (contracted, batch))), exact,
                    (cases.rand(left, dtype), cases.rand(right, dtype)), dtype, K)
    cases.check("dot_general into float32", jax.jit(lambda a, b: jax.lax.dot_general(
        a, b, (([1], [0]), ([], [])), preferred_element_type="float32")), numpy.matmul,
        (cases.rand((128, 200), "bfloat16"), cases.rand((200, 96), "bfloat16")), "float32", 200)
    bias = cases.rand((96,), "float32")
    cases.check("a bias and relu", jax.jit(lambda a, b: jax.nn.relu(a @ b + bias)),
                lambda a, b: numpy.maximum(a @ b + numpy.asarray(bias, numpy.float64), 0),
                (cases.rand((128, 200), "float32"), cases.rand((200, 96), "float32")), "float32", 208)
