# SPDX-License-Identifier: Apache-2.0
"""Which problems a program multiplies."""
from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

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


class _Captures:
    """The captures that a thread has open, in the order of opening. Another thread may close them: each step on the list
    is one operation of Python's, and no lock is held, since the garbage collector may close a capture at any time."""

    def __init__(self) -> None:
        self.open: list[Shapes] = []
        self._mode: AbstractContextManager[Any] | None = None  # that sees PyTorch's products in the thread
        self._mode_is_of: Shapes | None = None
        self._thread = threading.current_thread()

    def add(self, shapes: Shapes) -> None:
        if sys.modules.get("torch") is not None and self._mode is None:
            from ._torch_capture import ProductMode

            self._mode = ProductMode(_note, lambda: _captures_of(self))
            self._mode.__enter__()
            self._mode_is_of = shapes
        self.open.append(shapes)
        _core.count_captures(1)

    def close(self, shapes: Shapes) -> None:
        later = self.open[self.open.index(shapes) + 1:]
        self.open.remove(shapes)
        _core.count_captures(-1)
        if self._mode is None or shapes is not self._mode_is_of:
            return
        self._mode_is_of = later[0] if later else None
        # PyTorch's modes are a stack of the thread: in another thread this one cannot be taken off, and notes nothing.
        if not later and self._thread is threading.current_thread():
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.captures = _Captures()


_here = _OfThread()


def _note(problem: str) -> None:
    for shapes in tuple(_here.captures.open):
        shapes.calls[problem] += 1


# Called while a capture is open in any thread.
_core.set_recorder(_note)


@contextmanager
def _captures_of(captures: _Captures) -> Iterator[None]:
    """What this thread multiplies is noted in another's captures."""
    before, _here.captures = _here.captures, captures
    try:
        yield
    finally:
        _here.captures = before


@contextmanager
def capture() -> Iterator[Shapes]:
    """Collects the problems of ``matmul()``, and those that PyTorch multiplies meanwhile in this
    thread (mm, addmm, bmm and baddbmm, forwards and backwards; tensors of any device) where
    PyTorch is imported. Each thread has its own captures: one sees its thread's calls until it is
    closed, in any order and by any thread.

    ``gemm-tune capture`` does so for a whole program, whatever calls cuBLAS in it."""
    shapes = Shapes()
    captures = _here.captures
    captures.add(shapes)
    try:
        yield shapes
    finally:
        captures.close(shapes)
