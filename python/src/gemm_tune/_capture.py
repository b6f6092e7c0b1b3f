# SPDX-License-Identifier: Apache-2.0
"""Which problems a program multiplies."""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


_active: list[Shapes] = []


def _note(problem: str) -> None:
    for shapes in _active:
        shapes.calls[problem] += 1


@contextmanager
def capture() -> Iterator[Shapes]:
    """Collects the problems of ``matmul()``, and those that PyTorch multiplies meanwhile in this
    thread (mm, addmm, bmm and baddbmm, forwards and backwards; tensors of any device) where
    PyTorch is imported.

    ``gemm-tune capture`` does so for a whole program, whatever calls cuBLAS in it."""
    shapes = Shapes()
    with ExitStack() as stack:
        torch: Any = sys.modules.get("torch")
        if torch is not None and not _active:
            from ._torch_capture import ProductMode

            stack.enter_context(ProductMode(_note))
        _active.append(shapes)
        _core.set_recorder(_note)
        try:
            yield shapes
        finally:
            # By identity: all have equal counters at first.
            _active[:] = [one for one in _active if one is not shapes]
            if not _active:
                _core.set_recorder(None)
