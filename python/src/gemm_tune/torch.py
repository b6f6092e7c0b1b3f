# SPDX-License-Identifier: Apache-2.0
"""The operator torch.ops.gemm_tune.matmul: for autograd, torch.compile and subclasses of tensors.

Importing this module registers it. On tensors of the CPU it is torch.matmul, so that a program runs
where no GPU is. gemm_tune.matmul calls it where a tensor requires grad."""
from __future__ import annotations

from typing import Any

import torch

from ._errors import ArgumentError
from ._torch_capture import TYPES
from .lib import _core

_library = torch.library.Library("gemm_tune", "DEF")
_library.define("matmul(Tensor a, Tensor b, Tensor? bias=None) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
_library.define("matmul_out(Tensor a, Tensor b, Tensor? bias, Tensor(a!) out) -> ()", tags=(torch.Tag.pt2_compliant_tag,))
matmul = torch.ops.gemm_tune.matmul
matmul_out = torch.ops.gemm_tune.matmul_out


def _on_cuda(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    return _core.matmul_of_plain_tensors(a, b, bias, None)


def _on_cuda_out(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor) -> None:
    _core.matmul_of_plain_tensors(a, b, bias, out)


def _on_cpu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    kind = torch.promote_types(a.dtype, b.dtype)
    product = torch.matmul(a.to(kind), b.to(kind))
    result = product if bias is None else product + bias
    return result.contiguous()


def _on_cpu_out(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor) -> None:
    out.copy_(_on_cpu(a, b, bias))


def _fake(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    torch._check(a.dim() > 0, lambda: "a is a single number: it must have a dimension")
    torch._check(b.dim() > 0, lambda: "b is a single number: it must have a dimension")
    kind = torch.promote_types(a.dtype, b.dtype)
    torch._check(a.dtype == b.dtype or kind == torch.float32,
                 lambda: f"b is {b.dtype} and a {a.dtype}: both must have one type, or one of them float32")
    torch._check(a.device == b.device, lambda: f"b is on {b.device} and a on {a.device}: all must be on one device")
    rows = b.shape[-2] if b.dim() > 1 else b.shape[0]
    torch._check(a.shape[-1] == rows, lambda: f"b has {rows} rows: it needs {a.shape[-1]}, as a has columns")
    shape = [
        *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]),
        *(a.shape[-2:-1] if a.dim() > 1 else ()),
        *(b.shape[-1:] if b.dim() > 1 else ()),
    ]
    return a.new_empty(shape, dtype=kind)


def _fake_out(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor) -> None:
    return None


_library.impl("matmul", _on_cuda, "CUDA")
_library.impl("matmul_out", _on_cuda_out, "CUDA")
_library.impl("matmul", _on_cpu, "CPU")
_library.impl("matmul_out", _on_cpu_out, "CPU")
torch.library.register_fake("gemm_tune::matmul", _fake, lib=_library)
torch.library.register_fake("gemm_tune::matmul_out", _fake_out, lib=_library)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    a, b, bias = inputs
    ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)
    ctx.shapes = a.shape, b.shape, None if bias is None else bias.shape


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    a, b = ctx.saved_tensors
    shape_a, shape_b, shape_bias = ctx.shapes
    # As matrices: a vector is a row on the left and a column on the right.
    if len(shape_b) == 1:
        grad = grad.unsqueeze(-1)
    if len(shape_a) == 1:
        grad = grad.unsqueeze(-2)
    of_a = of_b = of_bias = None
    if b is not None:
        columns = b.unsqueeze(-1) if b.dim() == 1 else b
        of_a = matmul(grad, columns.mT)
        of_a = (of_a.squeeze(-2) if len(shape_a) == 1 else of_a).sum_to_size(shape_a)
    if a is not None:
        rows = a.unsqueeze(-2) if a.dim() == 1 else a
        of_b = matmul(rows.mT, grad)
        of_b = (of_b.squeeze(-1) if len(shape_b) == 1 else of_b).sum_to_size(shape_b)
    if shape_bias is not None and ctx.needs_input_grad[2]:
        of_bias = grad.sum_to_size(shape_bias)
    return of_a, of_b, of_bias


torch.library.register_autograd("gemm_tune::matmul", _backward, setup_context=_remember, lib=_library)


def gemm_tune_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """For torch._inductor.config.external_matmul: torch.mm where gemm_tune has no kernels."""
    if a.is_cuda and a.dtype in TYPES:
        _core.matmul_of_plain_tensors(a, b, None, out)
    else:
        torch.mm(a, b, out=out)


def add_to_inductor() -> None:
    """From now on torch.compile with mode="max-autotune" times gemm_tune beside its own kernels for
    each product of matrices. Inductor's hook for it is private, and may change."""
    import torch._inductor.config
    from torch._inductor.kernel.mm import lazy_register_extern_choice

    if gemm_tune_matmul not in torch._inductor.config.external_matmul:
        torch._inductor.config.external_matmul.append(gemm_tune_matmul)
    # A graph that Inductor kept of an earlier process calls it by this name.
    lazy_register_extern_choice(gemm_tune_matmul)


def _matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor | None) -> torch.Tensor:
    """Of gemm_tune.matmul(): tensors that require grad, and subclasses of tensors."""
    if out is None:
        return matmul(a, b, bias)
    if torch.is_grad_enabled() and any(
            tensor is not None and tensor.requires_grad for tensor in (a, b, bias, out)):
        raise ArgumentError("out is given where a, b, bias or out requires grad: leave it out, or use torch.no_grad()")
    matmul_out(a, b, bias, out)
    return out
