# SPDX-License-Identifier: Apache-2.0
"""Which problems a program multiplies."""
from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ._table import Table
from .lib import _core


def _operations(problem: str) -> int:
    sizes, *fields = problem.split(":")
    M, N, K = map(int, sizes.split("x"))
    batch = next((int(field[6:]) for field in fields if field.startswith("batch=")), 1)
    return 2 * M * N * K * batch


class Shapes:
    """Problems as gemm-tune writes them ("128x64x256:layout=nt:batch=8") and their calls, those
    with the most operations first. ``tune()`` takes them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def _sorted(self) -> list[str]:
        return sorted(self.calls, key=lambda problem: -_operations(problem) * self.calls[problem])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sorted())

    def __len__(self) -> int:
        return len(self.calls)

    def table(self) -> Table:
        problems = self._sorted()
        return Table({
            "problem": problems,
            "calls": [self.calls[problem] for problem in problems],
            "gflop": [_operations(problem) * self.calls[problem] / 1e9 for problem in problems],
        })

    def save(self, path: str | Path) -> None:
        """As a file for ``gemm-tune --sizes @FILE``."""
        lines = [f"{problem}  # {self.calls[problem]} calls\n" for problem in self._sorted()]
        Path(path).write_text("".join(lines))

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class _OfThread(threading.local):
    """The captures that are open in a thread, and whether PyTorch's products are seen in it."""

    def __init__(self) -> None:
        self.open: list[Shapes] = []
        self.sees_pytorch = False


_here = _OfThread()
_lock = threading.Lock()
_count = 0  # of the captures that are open in all threads


def _note(problem: str) -> None:
    for shapes in _here.open:
        shapes.calls[problem] += 1


def _count_captures(change: int) -> None:
    global _count
    with _lock:
        _count += change
        _core.set_recorder(_note if _count > 0 else None)


@contextmanager
def _captures_of(captures: list[Shapes]) -> Iterator[None]:
    """What this thread multiplies is noted in another's captures."""
    before, _here.open = _here.open, captures
    try:
        yield
    finally:
        _here.open = before


@contextmanager
def _products_of_pytorch() -> Iterator[None]:
    from ._torch_capture import ProductMode

    captures = _here.open
    _here.sees_pytorch = True
    try:
        with ProductMode(_note, lambda: _captures_of(captures)):
            yield
    finally:
        _here.sees_pytorch = False


@contextmanager
def capture() -> Iterator[Shapes]:
    """Collects the problems of ``matmul()``, and those that PyTorch multiplies meanwhile in this
    thread (mm, addmm, bmm and baddbmm, forwards and backwards; tensors of any device) where
    PyTorch is imported. Each thread has its own captures.

    ``gemm-tune capture`` does so for a whole program, whatever calls cuBLAS in it."""
    shapes = Shapes()
    with ExitStack() as stack:
        if sys.modules.get("torch") is not None and not _here.sees_pytorch:
            stack.enter_context(_products_of_pytorch())
        captures = _here.open
        captures.append(shapes)
        _count_captures(1)
        try:
            yield shapes
        finally:
            _count_captures(-1)
            # By identity: all have equal counters at first.
            captures[:] = [one for one in captures if one is not shapes]
