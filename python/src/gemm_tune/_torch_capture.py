# SPDX-License-Identifier: Apache-2.0
"""PyTorch's products, seen below its dispatcher."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .lib import _core

# The part of a problem's text for each type that has kernels.
TYPES = {getattr(torch, name): f":type={ours}" if ours != "f32" else "" for name, ours in _core.types().items()}
_aten = torch.ops.aten
# Where A and B are among the arguments.
_PRODUCTS = {_aten.mm: 0, _aten.bmm: 0, _aten.addmm: 1, _aten.baddbmm: 1}


def _letter(matrix: torch.Tensor) -> str:
    """t: by columns. What is neither by rows nor by columns is copied, and then by rows."""
    by_rows = matrix.stride(-1) == 1 or matrix.shape[-1] == 1
    return "t" if not by_rows and (matrix.stride(-2) == 1 or matrix.shape[-2] == 1) else "n"


def problem_of(a: torch.Tensor, b: torch.Tensor) -> str | None:
    """Of matrices, or of batches of them; None where gemm-tune has no kernels for it."""
    kind = TYPES.get(a.dtype)
    if kind is None or b.dtype != a.dtype or 0 in (*a.shape, *b.shape):
        return None
    layout = _letter(a) + _letter(b)
    batch = a.shape[0] if a.dim() == 3 else 1
    return (f"{a.shape[-2]}x{b.shape[-1]}x{a.shape[-1]}{kind}"
            + (f":layout={layout}" if layout != "nn" else "") + (f":batch={batch}" if batch > 1 else ""))


class ProductMode(TorchDispatchMode):
    """note: gets each problem. as_in_its_thread: PyTorch runs the gradients of a GPU in a thread of its own, under the
    mode of the thread that asked for them; within as_in_its_thread() the captures are those of the latter."""

    def __init__(self, note: Callable[[str], None], as_in_its_thread: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__()
        self._note, self._as_in_its_thread = note, as_in_its_thread

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self._as_in_its_thread():
            first = _PRODUCTS.get(func.overloadpacket)
            if first is not None:
                problem = problem_of(args[first], args[first + 1])
                if problem is not None:
                    self._note(problem)
            return func(*args, **(kwargs or {}))
