# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any, TypeVar

_Array = TypeVar("_Array")

version: str

def open(
    database: str | None,
    kernel_cache: str | None,
    policy: int,
    refine_ms: float,
    refined_choices: str | None,
) -> None: ...
def reload() -> None: ...
def matmul(a: _Array, b: _Array, bias: _Array | None = None, out: _Array | None = None) -> _Array: ...
def matmul_of_plain_tensors(
    a: _Array, b: _Array, bias: _Array | None = None, out: _Array | None = None
) -> _Array: ...
def lookup(
    M: int,
    N: int,
    K: int,
    batch: int,
    trans_a: bool,
    trans_b: bool,
    type: int,
    type_of_result: int,
    alignment: int,
    arch: str | None,
    name: str | None,
    sm_count: int,
) -> dict[str, Any]: ...
def lookup_call(a: Any, b: Any, bias: Any = None, out: Any = None) -> dict[str, Any]: ...
def look_for_cuda_in(folders: list[str]) -> None: ...
def set_recorder(record: Callable[[str], None]) -> None: ...
def count_captures(change: int) -> int: ...
def calls_of(a: Any, b: Any, bias: Any = None, out: Any = None) -> list[dict[str, Any]]: ...
def prepare_only(a: Any, b: Any, bias: Any = None, out: Any = None) -> Any: ...
def c_call_of(a: Any, b: Any, bias: Any = None, out: Any = None) -> tuple[int, int, int, bytes]: ...
