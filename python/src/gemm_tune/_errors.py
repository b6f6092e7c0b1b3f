# SPDX-License-Identifier: Apache-2.0
"""The exceptions: each has the library's or the program's sentence."""


class Error(Exception):
    """What all others derive from."""


class ArgumentError(Error, ValueError):
    """An argument is out of range, of the wrong type, shape or device; the sentence names it."""


class DatabaseError(Error):
    """The database is missing, unreadable or no gemm-tune database."""


class DeviceError(Error, RuntimeError):
    """There is no GPU, driver or CUDA library, or CUDA failed."""


class NoKernelError(Error):
    """No kernel can serve the problem, or a search found none."""


class InternalError(Error):
    """The host's memory is exhausted, or a defect of gemm-tune."""
