# SPDX-License-Identifier: Apache-2.0
"""Which kernel serves a problem, and from which database."""
from __future__ import annotations

import operator
import os
from dataclasses import dataclass
from typing import Any

from ._errors import ArgumentError, DeviceError
from .lib import _core

Shape = str | int | tuple[int, ...]

_POLICIES = {"best": 0, "tuned_only": 1, "deterministic": 2, "batch_invariant": 3}

# That of configure(); None: the default one.
database: str | None = None
# Of load_family().
families: list[str] = []


@dataclass(frozen=True)
class Recipe:
    """What serves a problem. Times are in microseconds; None: not known.

    match: "exact", tuned for this device and problem; "nearest", tuned for a near size or on another device of the
    architecture; "default", nothing tuned fits, and cuBLAS's own choice or a conservative kernel serves; "none", nothing
    that the policy allows serves, and no other field but explanation holds.
    source: what a tuned kernel rests on, "measured" or "predicted" (by a model, never timed).
    config: the kernel, "family/NAME=VALUE,...", or an algorithm of cuBLAS or cublasLt.
    explanation: what was chosen and why, in one sentence.
    align_bytes: for A, B, C and D, the bytes that must divide address, leading dimension and, in a batch, stride.
    workspace_bytes: scratch memory of one launch on the device, which matmul() brings.
    tuned_us: the kernel's median time at the problem that it was timed for, on this very device.
    baseline_us: the fastest of cuBLAS beside it in the same run.
    distance: from the problem that the winner was tuned for, as the product of the larger over the smaller of M, N, K and
    batch; 1 for the same sizes.
    expected_us: of what was chosen, measured for an exact match, else by a model that is corrected by what was measured.
    expected_within: half of such expectations are off by at most this factor, 1.05 for 5 %. Beyond a distance of 16 an
    expectation is a guess.
    cublas_us: of cuBLAS for the problem, measured or expected likewise."""

    match: str
    source: str | None
    config: str | None
    explanation: str
    align_bytes: tuple[int, int, int, int]
    workspace_bytes: int
    tuned_us: float | None
    baseline_us: float | None
    distance: float | None
    expected_us: float | None
    expected_within: float | None
    cublas_us: float | None


def whole_number(value: Any) -> int | None:
    """Also of NumPy's integers; None where it is none."""
    try:
        return int(operator.index(value))
    except TypeError:
        return None


def text_of(value: Any, name: str, example: str) -> str:
    """The argument, which a C library or the program reads as a text."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is {value!r}: it must be a text, as in {example!r}")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} is {value!r}, which UTF-8 cannot hold") from None
    if "\0" in value:
        raise ArgumentError(f"{name} is {value!r}: it goes on behind a null character")
    return value


def path_of(path: str | os.PathLike[str], name: str) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ArgumentError(f"{name} is {path!r}: it must be a path") from None


def shape_text(shape: Shape) -> str:
    """(M, N, K) or (M, N, K, batch), one edge of three equal ones, or a text of gemm-tune."""
    if isinstance(shape, str):
        if not shape.strip() or shape.lstrip()[0] == "#" or not "".join(shape.split()).isprintable():
            raise ArgumentError(f"the shape {shape!r} is not a text as in '128x64x256:layout=nt:batch=8'")
        return shape
    edge = whole_number(shape)
    edges = (edge,) * 3 if edge is not None else ()
    if edge is None and hasattr(shape, "__iter__") and not isinstance(shape, (bytes, bytearray, dict)):
        edges = tuple(map(whole_number, shape))
    if any(edge is not None and abs(edge) >= 2**63 for edge in edges):
        raise ArgumentError("an edge of a shape is out of range: it must be below 2^63")
    if len(edges) not in (3, 4) or None in edges:
        raise ArgumentError(
            f"the shape {shape!r} is not (M, N, K), (M, N, K, batch), one whole number or a text as in "
            "'128x64x256:layout=nt:batch=8'")
    text = "x".join(map(str, edges[:3]))
    return text if len(edges) == 3 else f"{text}:batch={edges[3]}"


def _one_of(value: str, known: dict[str, Any], what: str) -> Any:
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(f"{what} is '{value}': it must be one of {', '.join(known)}")
    return known[value]


def configure(
    database: str | os.PathLike[str] | None = None,
    *,
    kernel_cache: str | os.PathLike[str] | None = None,
    policy: str = "best",
    refine_ms: float = 0.0,
    refined_choices: str | os.PathLike[str] | None = None,
) -> None:
    """From now on matmul(), lookup(), tune() and explain() use this database, the first two also the rest. What is left out
    has its default again.

    database: its path; None: the environment's GEMM_TUNE_DB, else gemm-tune/gemm-tune.db in $XDG_DATA_HOME or
    ~/.local/share. kernel_cache: a folder for compiled kernels, made if missing; None: they are kept in memory only, but
    where database is None, too, in gemm-tune of $XDG_CACHE_HOME or ~/.cache.
    policy: "best", the fastest as far as is known, a kernel or cuBLAS; "tuned_only", kernels that searches found; "deterministic",
    kernels, tuned or not, never cuBLAS; "batch_invariant", kernels of one order of sums, by which a row of the result has
    the same bits whatever M is, never cuBLAS.
    refine_ms: by how many milliseconds the first call for a problem that nobody has tuned may take longer, in order to
    time the likeliest kernels on its operands. refined_choices: a file that keeps these answers for later processes; made
    if missing.

    Raises ArgumentError, and DatabaseError where the database is missing or cannot be read."""
    path = None if database is None else path_of(database, "database")
    try:
        milliseconds = float(refine_ms)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"refine_ms is {refine_ms!r}: it must be a number of milliseconds") from None
    _core.open(
        path,
        None if kernel_cache is None else path_of(kernel_cache, "kernel_cache"),
        _one_of(policy, _POLICIES, "policy"),
        milliseconds,
        None if refined_choices is None else path_of(refined_choices, "refined_choices"),
    )
    globals()["database"] = path


def load_family(file: str | os.PathLike[str]) -> None:
    """Loads a plug-in of a kernel family of your own, which gemm_tune_add_family() of gemm-tune's CMake package has built, for
    the whole process: before anything else of gemm_tune is called but other load_family(). tune() and explain() know it, too.

    Raises ArgumentError, also where it comes too late or the file is no plug-in of this version."""
    path = os.path.abspath(path_of(file, "file"))
    _core.load_family(path)
    if path not in families:
        families.append(path)


def reload() -> None:
    """Reads the database again, which another process has changed. tune() does so itself. Raises DatabaseError, and the
    winners stay as they were."""
    _core.reload()


def lookup(
    shape: Shape,
    *,
    alignment: int = 0,
    arch: str | None = None,
    device_name: str | None = None,
    sm_count: int = 0,
) -> Recipe:
    """Which kernel serves the problem on the device, the current one unless arch names another
    ("sm_90", any GPU of that architecture; with device_name and sm_count that one). alignment: bytes that divide all
    addresses and leading dimensions, as align= in the shape's text; 0: of packed matrices. Needs neither a GPU nor CUDA's
    libraries where arch is given.

    Raises ArgumentError, DeviceError where neither arch is given nor a GPU is there, and DatabaseError where the database
    cannot be read. A problem that no kernel serves is a Recipe whose match is "none"."""
    text = shape_text(shape)
    edge, *fields = text.split(":", 1)
    if edge.isdigit():
        text = ":".join(["x".join([edge] * 3), *fields])
    if alignment != 0:
        head, mark, batch = text.partition(":batch=")
        text = f"{head}:align={alignment}{mark}{batch}"
    if arch is None and (device_name is not None or sm_count != 0):
        raise ArgumentError("device_name and sm_count need arch, as in arch='sm_90'")
    if arch is not None:
        text_of(arch, "arch", "sm_90")
    if device_name is not None:
        text_of(device_name, "device_name", "NVIDIA H100 80GB HBM3")
    try:
        return Recipe(**_core.lookup(text, arch, device_name, sm_count))
    except DeviceError as error:
        if arch is not None:
            raise
        raise DeviceError(f"{error}; or name another target with arch, as in arch='sm_90'") from None
    except TypeError as error:
        raise ArgumentError(f"sm_count is {sm_count!r}: it must be a whole number below 2^31") from error


def lookup_call(a: Any, b: Any, bias: Any = None, out: Any = None) -> Recipe:
    """Which kernel serves matmul() of these arguments. Reads no element. Raises as lookup()."""
    return Recipe(**_core.lookup_call(a, b, bias, out))
