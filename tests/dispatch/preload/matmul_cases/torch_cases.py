# SPDX-License-Identifier: Apache-2.0
"""The products of PyTorch's own tests (test/test_linalg.py, test/test_matmul_cuda.py), written anew: their shapes, strides,
scalars, types and kinds of output. Each is computed on the GPU and, in fp64 from the same elements, on the CPU."""
import itertools
import math

import torch
import torch.nn.functional as functional

from check import share_of_bound, tell

NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float64: "float64",
         torch.complex64: "complex64", torch.complex128: "complex128"}
REAL = (torch.float32, torch.float16, torch.bfloat16)
LAYS = ("plain", "transposed", "padded", "offset", "stepped")


def same(x):
    return x


def lay(values, how):
    """The values in a tensor whose elements lie in memory as `how` says."""
    if how == "transposed" and values.dim() >= 2:
        return values.mT.contiguous().mT
    if how == "padded":  # rows of a wider matrix
        wide = values.new_full((*values.shape[:-1], values.shape[-1] + 3), math.nan)
        wide[..., :values.shape[-1]] = values
        return wide[..., :values.shape[-1]]
    if how == "offset":  # an address that is aligned to one element only
        flat = values.new_full((values.numel() + 1,), math.nan)
        flat[1:] = values.flatten()
        return flat[1:].view(values.shape)
    if how == "stepped":  # every second element of a row, which no call of cuBLAS can have
        wide = values.new_full((*values.shape[:-1], 2 * values.shape[-1]), math.nan)
        wide[..., ::2] = values
        return wide[..., ::2]
    if how == "reversed":  # the first two dimensions lie in the other order
        return values.transpose(0, 1).contiguous().transpose(0, 1)
    return values.clone()


class Cases:
    def __init__(self, device):
        self.device, self.generator = device, torch.Generator().manual_seed(1)

    def rand(self, *shape, dtype=torch.float32, how="plain", expand=None):
        """expand: a shape that the tensor is expanded to, without a copy."""
        kind = dtype if dtype.is_complex else torch.float64
        values = (torch.randn(*shape, generator=self.generator, dtype=kind) / 2).to(self.device, dtype)
        laid = lay(values, how)
        return laid.expand(expand) if expand else laid

    def check(self, name, op, *operands, K, into=None, factor=1.0, dtype=None):
        """op(s, *operands): s is to be taken of scalars that may be negative. into: how an output lies that op writes into,
        with the elements around it untouched. dtype: the result's, where it is not the first operand's."""
        dtype = dtype or operands[0].dtype

        def wide(x):
            return x.cpu().to(torch.complex128 if x.dtype.is_complex else torch.float64)

        def do():
            copies = [x.clone() for x in operands]
            exact = op(same, *map(wide, operands))
            size = op(abs, *(wide(x).abs() for x in operands))
            if into:
                out = lay(torch.full(exact.shape, math.nan, dtype=dtype, device=self.device), into)
                around = out.untyped_storage().nbytes() // out.element_size() - out.numel()
                result = op(same, *operands, out=out)
                every = torch.empty(0, dtype=dtype, device=self.device).set_(out.untyped_storage())
                if int(torch.isnan(every).sum()) < around:
                    raise AssertionError("elements beside the output were written")
            else:
                result = op(same, *operands)
            if result.dtype != dtype:
                raise AssertionError(f"the result is of {result.dtype}")
            for copy, operand in zip(copies, operands):
                if not torch.equal(torch.nan_to_num(wide(copy)), torch.nan_to_num(wide(operand))):
                    raise AssertionError("an operand was written")
            return share_of_bound(wide(result).numpy(), exact.numpy(), size.numpy(), NAMES[dtype], K, factor)

        tell(f"{name} {NAMES[dtype]}", do)

    def mm(self):
        shapes = [(1, 1, 1), (10, 12, 25), (100, 100, 100), (127, 33, 65), (1, 300, 77), (300, 1, 77), (257, 129, 513),
                  (8, 1024, 4096), (1001, 1000, 1002), (4, 4, 60000)]
        for dtype in NAMES:
            for m, n, k in shapes if dtype in REAL else shapes[:4]:
                self.check(f"mm {m}x{n}x{k}", lambda s, a, b: a @ b, self.rand(m, k, dtype=dtype), self.rand(k, n, dtype=dtype),
                           K=k)
        for dtype, how_a, how_b in itertools.product(REAL, LAYS, LAYS):
            a, b = self.rand(96, 72, dtype=dtype, how=how_a), self.rand(72, 104, dtype=dtype, how=how_b)
            self.check(f"mm {how_a} {how_b}", lambda s, a, b: a @ b, a, b, K=72)
        for dtype, into in itertools.product(REAL, LAYS):
            self.check(f"mm out {into}", lambda s, a, b, out=None: torch.mm(a, b, out=out), self.rand(40, 56, dtype=dtype),
                       self.rand(56, 48, dtype=dtype), K=56, into=into)
        for dtype in (torch.complex64, torch.complex128):
            a, b = self.rand(33, 20, dtype=dtype), self.rand(33, 17, dtype=dtype)
            self.check("mm adjoint", lambda s, a, b: a.mH @ b, a, b, K=33)
            self.check("mm conjugate", lambda s, a, b: a.mT @ b.conj(), a, b, K=33)
        for dtype in (torch.float16, torch.bfloat16):
            self.check("mm into fp32", lambda s, a, b: torch.mm(a, b, **({"out_dtype": torch.float32} if a.dtype == dtype else {})),
                       self.rand(64, 200, dtype=dtype), self.rand(200, 72, dtype=dtype), K=200, dtype=torch.float32)
        for dtype in REAL:
            a = self.rand(16, 24, dtype=dtype)
            a[3, 5], a[7, 1] = math.inf, math.nan
            self.check("mm inf and nan", lambda s, a, b: a @ b, a, self.rand(24, 8, dtype=dtype), K=24)

    def addmm(self):
        def op(alpha, beta):
            return lambda s, t, a, b, out=None: torch.addmm(t, a, b, alpha=s(alpha), beta=s(beta), out=out)

        for dtype in NAMES:
            for m, n, k in itertools.product((0, 1, 25), (0, 1, 10), (0, 1, 8)):
                self.check(f"addmm sizes {n}x{m}x{k}", op(1, 1), self.rand(n, m, dtype=dtype), self.rand(n, k, dtype=dtype),
                           self.rand(k, m, dtype=dtype), K=k)
        for dtype, hows in itertools.product(REAL, itertools.product(("plain", "transposed"), repeat=4)):
            operands = [self.rand(*shape, dtype=dtype, how=how) for shape, how in zip(((10, 25), (10, 50), (50, 25)), hows)]
            self.check(f"addmm {' '.join(hows)}", op(1.2, -0.8), *operands, K=50, into=hows[3])
        for dtype, (alpha, beta) in itertools.product(REAL, ((1, 0), (0, 1), (0, 0), (-2.5, 1), (1, 0.5))):
            t, a, b = (self.rand(*shape, dtype=dtype) for shape in ((33, 65), (33, 40), (40, 65)))
            self.check(f"addmm alpha {alpha} beta {beta}", op(alpha, beta), t, a, b, K=40)
            if beta == 0:
                self.check(f"addmm of NaN, alpha {alpha} beta 0", op(alpha, 0), torch.full_like(t, math.nan), a, b, K=40)
        for dtype in REAL:
            self.check("addmm strides of 0", op(1.5, 2), self.rand(10, 1, dtype=dtype, expand=(10, 25)),
                       self.rand(10, 1, dtype=dtype, expand=(10, 50)), self.rand(50, 25, dtype=dtype), K=50)
            self.check("addmm a row that is broadcast", op(1, 1), self.rand(64, dtype=dtype), self.rand(48, 80, dtype=dtype),
                       self.rand(80, 64, dtype=dtype), K=80)
            self.check("addmm a number that is broadcast", op(1, 3), self.rand(1, dtype=dtype), self.rand(48, 80, dtype=dtype),
                       self.rand(80, 64, dtype=dtype), K=80)
            for size in (100, 1000):
                self.check(f"addmm of {size}", op(1, 1), self.rand(size + 1, size + 2, dtype=dtype),
                           self.rand(size + 1, size, dtype=dtype), self.rand(size, size + 2, dtype=dtype), K=size)
            self.check("addmm in place", lambda s, t, a, b: t.clone().addmm_(a, b, beta=s(-0.5), alpha=2),
                       self.rand(70, 90, dtype=dtype), self.rand(70, 30, dtype=dtype), self.rand(30, 90, dtype=dtype), K=30)

    def activations(self):
        def op(gelu):
            def of(s, bias, a, b):
                if s is abs:  # no activation moves further than its argument, but for GELU's slope of up to 1.13
                    return bias + a @ b
                if a.is_cuda:
                    return torch._addmm_activation(bias, a, b, use_gelu=gelu)
                sums = torch.addmm(bias, a, b)
                return functional.gelu(sums, approximate="tanh") if gelu else sums.relu()
            return of

        for dtype, gelu, (n, m, k) in itertools.product(REAL, (True, False), ((10, 25, 50), (64, 128, 96), (1, 1000, 33))):
            for how in ("plain", "transposed"):
                # cuBLAS's own GELU takes an approximate tanh; a factor of 32 in fp32 is 2^-19 of the sums.
                self.check(f"activation {'gelu' if gelu else 'relu'} {n}x{m}x{k} {how}", op(gelu), self.rand(m, dtype=dtype),
                           self.rand(n, k, dtype=dtype), self.rand(k, m, dtype=dtype, how=how), K=k, factor=32 if gelu else 1)

    def vectors(self):
        for dtype in NAMES:
            for m, k in ((10, 50), (1, 1), (0, 5), (5, 0), (1000, 333)):
                self.check(f"mv {m}x{k}", lambda s, a, x: a @ x, self.rand(m, k, dtype=dtype), self.rand(k, dtype=dtype), K=k)
        for dtype, how_a, how_x in itertools.product(REAL, LAYS[:4], ("plain", "offset", "stepped")):
            self.check(f"addmv {how_a} {how_x}", lambda s, t, a, x: torch.addmv(t, a, x, alpha=s(-1.5), beta=0.5),
                       self.rand(10, dtype=dtype), self.rand(10, 50, dtype=dtype, how=how_a), self.rand(50, dtype=dtype, how=how_x), K=50)
        for dtype in REAL:
            self.check("dot", lambda s, x, y: torch.dot(x, y), self.rand(1000, dtype=dtype), self.rand(1000, dtype=dtype), K=1000)
            self.check("outer", lambda s, x, y: torch.outer(x, y), self.rand(30, dtype=dtype), self.rand(50, dtype=dtype), K=1)

    def batches(self):
        def baddbmm(alpha, beta):
            return lambda s, t, a, b, out=None: torch.baddbmm(t, a, b, alpha=s(alpha), beta=s(beta), out=out)

        for dtype in NAMES:
            for count, m, n, k in ((1, 23, 15, 12), (10, 23, 15, 12), (0, 3, 4, 5), (4, 0, 5, 6), (4, 5, 0, 6), (4, 5, 6, 0)):
                a, b = self.rand(count, m, k, dtype=dtype), self.rand(count, k, n, dtype=dtype)
                self.check(f"bmm {count}x{m}x{n}x{k}", lambda s, a, b: torch.bmm(a, b), a, b, K=k)
                self.check(f"baddbmm {count}x{m}x{n}x{k}", baddbmm(1.5, -2), self.rand(count, m, n, dtype=dtype), a, b, K=k)
        for dtype, how_a, how_b in itertools.product(REAL, (*LAYS, "reversed"), (*LAYS, "reversed")):
            a, b = self.rand(6, 24, 40, dtype=dtype, how=how_a), self.rand(6, 40, 32, dtype=dtype, how=how_b)
            self.check(f"bmm {how_a} {how_b}", lambda s, a, b: torch.bmm(a, b), a, b, K=40)
        for dtype, into in itertools.product(REAL, (*LAYS, "reversed")):
            a, b = self.rand(5, 16, 24, dtype=dtype), self.rand(5, 24, 20, dtype=dtype)
            self.check(f"bmm out {into}", lambda s, a, b, out=None: torch.bmm(a, b, out=out), a, b, K=24, into=into)
            self.check(f"baddbmm out {into}", baddbmm(-1, 0.5), self.rand(5, 16, 20, dtype=dtype), a, b, K=24, into=into)
        for dtype in REAL:
            one, many = self.rand(1, 24, 40, dtype=dtype, expand=(6, 24, 40)), self.rand(6, 40, 32, dtype=dtype)
            self.check("bmm a batch stride of 0", lambda s, a, b: torch.bmm(a, b), one, many, K=40)
            self.check("baddbmm broadcast", baddbmm(1, 1), self.rand(32, dtype=dtype, expand=(6, 24, 32)), one, many, K=40)
            self.check("baddbmm of NaN, beta 0", baddbmm(1, 0), torch.full((6, 24, 32), math.nan, dtype=dtype, device=self.device),
                       one, many, K=40)
            self.check("addbmm", lambda s, t, a, b: torch.addbmm(t, a, b, beta=s(-0.5), alpha=2), self.rand(24, 32, dtype=dtype),
                       one, many, K=240, factor=8)  # sums of sums, each rounded
            self.check("bmm of 65537", lambda s, a, b: torch.bmm(a, b), self.rand(65537, 6, 8, dtype=dtype),
                       self.rand(65537, 8, 4, dtype=dtype), K=8)

    def broadcast(self):
        def sizes(dimensions, batch, matrix):
            return (*batch[len(batch) - max(0, dimensions - 2):], *matrix) if dimensions > 1 else matrix

        for x, y, m, n, k in itertools.product((1, 2, 3, 4), (1, 2, 3, 4), (1, 5), (3,), (2, 7)):
            for batch_x, batch_y in (((4, 3), (4, 3)), ((1, 3), (4, 1))):
                if batch_x != batch_y and min(x, y) < 3:
                    continue
                shape_x = sizes(x, batch_x, (m, k) if x > 1 else (k,))
                shape_y = sizes(y, batch_y, (k, n) if y > 1 else (k,))
                for how in ("plain", "stepped"):
                    self.check(f"matmul {shape_x} {shape_y} {how}", lambda s, a, b: torch.matmul(a, b), self.rand(*shape_x, how=how),
                               self.rand(*shape_y, how=how), K=k)
        for equation, shape_x, shape_y, k in (
                ("ij,jk->ik", (33, 20), (20, 41), 20), ("bij,bjk->bik", (4, 9, 16), (4, 16, 12), 16),
                ("bij,bkj->bik", (16, 48, 24), (16, 56, 24), 24), ("bhqd,bhkd->bhqk", (2, 4, 33, 16), (2, 4, 17, 16), 16),
                ("ijk,kl->ijl", (3, 5, 24), (24, 8), 24), ("ij,kj->", (6, 10), (7, 10), 420), ("ijk,jil->kl", (5, 6, 7), (6, 5, 8), 30)):
            for dtype in REAL[::2]:
                self.check(f"einsum {equation}", lambda s, a, b: torch.einsum(equation, a, b), self.rand(*shape_x, dtype=dtype),
                           self.rand(*shape_y, dtype=dtype), K=k, factor=4 if equation.endswith("->") else 1)
        self.check("tensordot", lambda s, a, b: torch.tensordot(a, b, dims=([1, 0], [0, 1])), self.rand(3, 4, 5), self.rand(4, 3, 2), K=12)

    def linear(self):
        for dtype, (shape, outputs), has_bias in itertools.product(
                REAL, (((17, 64), 48), ((4, 9, 40), 24), ((64,), 32), ((0, 16), 8), ((128, 1024), 512)), (True, False)):
            operands = [self.rand(*shape, dtype=dtype), self.rand(outputs, shape[-1], dtype=dtype)]
            if has_bias:
                operands.append(self.rand(outputs, dtype=dtype))
            self.check(f"linear {shape}->{outputs}{' bias' if has_bias else ''}", lambda s, *x: functional.linear(*x), *operands,
                       K=shape[-1])
        for dtype, offsets in itertools.product(REAL, itertools.product(("plain", "offset"), repeat=3)):
            operands = [self.rand(*shape, dtype=dtype, how=how) for shape, how in zip(((16, 64), (48, 64), (48,)), offsets)]
            self.check(f"linear {' '.join(offsets)}", lambda s, *x: functional.linear(*x), *operands, K=64)
        for dtype in REAL:
            self.check("linear and relu", lambda s, *x: functional.linear(*x) if s is abs else functional.linear(*x).relu(),
                       self.rand(33, 40, dtype=dtype), self.rand(56, 40, dtype=dtype), self.rand(56, dtype=dtype), K=40)
            self.check("bilinear", lambda s, x, y, w: torch.einsum("bi,oij,bj->bo", x, w, y), self.rand(8, 12, dtype=dtype),
                       self.rand(8, 10, dtype=dtype), self.rand(6, 12, 10, dtype=dtype), K=120, factor=8)

        def backward(s, x, w):
            x, w = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
            functional.linear(x, w).sum().backward()
            return torch.cat([x.grad.flatten(), w.grad.flatten()])

        self.check("linear backward", backward, self.rand(48, 40), self.rand(56, 40), K=56)

    def others(self):
        """Types that the drop-in does not serve."""
        def int_mm(s, a, b):
            return torch._int_mm(a.to(torch.int8), b.to(torch.int8)).double() if a.is_cuda else a @ b

        whole = [torch.randint(-9, 10, shape, generator=self.generator).double().to(self.device) for shape in ((32, 64), (64, 48))]
        self.check("int8", int_mm, *whole, K=64)
        if self.device == "cuda" and torch.cuda.get_device_capability() >= (8, 9):
            def scaled(s, a, b):
                if not a.is_cuda:
                    return a @ b
                one = torch.ones((), device=a.device)
                return torch._scaled_mm(a, b.t().contiguous().t(), one, one, out_dtype=torch.bfloat16)

            a, b = (self.rand(*shape).to(torch.float8_e4m3fn) for shape in ((32, 64), (64, 48)))
            # Fast accumulation keeps 14 bits of each partial sum.
            self.check("float8", scaled, a, b, K=64, dtype=torch.bfloat16, factor=4)


def run(device):
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    cases = Cases(device)
    for part in (cases.mm, cases.addmm, cases.activations, cases.vectors, cases.batches, cases.broadcast, cases.linear, cases.others):
        part()
    if device == "cuda":
        torch.cuda.synchronize()
