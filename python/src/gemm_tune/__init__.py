# SPDX-License-Identifier: Apache-2.0
"""Tuned matrix multiplication on NVIDIA GPUs.

``tune(shapes)`` finds the fastest kernels for a GPU and keeps them in a database; ``matmul(a, b)``
multiplies arrays of PyTorch, CuPy and others with them. Without a GPU, ``tune(shapes, arch=...)``
ranks by a model, and ``lookup()`` answers. ``capture()`` collects the shapes that a program multiplies.
All exceptions derive from ``Error``; ``help()`` of a function says which it raises.
"""
import os as _os
import sys as _sys

from ._capture import Shapes, capture
from ._errors import ArgumentError, DatabaseError, DeviceError, Error, InternalError, NoKernelError
from ._lookup import Recipe, configure, load_family, lookup, lookup_call, reload
from ._table import Table
from ._tune import explain, tune
from .lib import _core
from .lib._core import Prepared, matmul, prepare

__version__: str = _core.version
__all__ = [
    "ArgumentError",
    "DatabaseError",
    "DeviceError",
    "Error",
    "InternalError",
    "NoKernelError",
    "Prepared",
    "Recipe",
    "Shapes",
    "Table",
    "capture",
    "configure",
    "explain",
    "load_family",
    "lookup",
    "lookup_call",
    "matmul",
    "prepare",
    "reload",
    "tune",
]


def _folders_of_wheels() -> list[str]:
    """Of NVIDIA's wheels for CUDA 13, wherever Python finds packages."""
    folders = (_os.path.join(_os.path.abspath(path), "nvidia", "cu13", "lib") for path in _sys.path)
    return [folder for folder in dict.fromkeys(folders) if _os.path.isdir(folder)]


_core.look_for_cuda_in(_folders_of_wheels())
