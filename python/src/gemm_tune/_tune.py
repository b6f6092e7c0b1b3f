# SPDX-License-Identifier: Apache-2.0
"""Searches, run by the program gemm-tune."""
from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from . import _lookup, _program
from ._errors import ArgumentError, InternalError
from ._lookup import Shape, path_of, shape_text, text_of, whole_number
from ._table import Table
from .lib import _core

_FORMAT_VERSION = 1


def _common(database: str | os.PathLike[str] | None, arch: str | None, device: int | None) -> list[str]:
    path = _lookup.database if database is None else path_of(database, "database")
    return [
        "--from-python",  # its sentences name the arguments below
        *([] if path is None else ["--db", path]),
        *(word for family in _lookup.families for word in ("--family", family)),
        *([] if arch is None else ["--arch", text_of(arch, "arch", "sm_90")]),
        *([] if device is None else ["--device", str(device)]),
    ]


def _answer(output: str) -> Any:
    try:
        answer = json.loads(output)
    except ValueError as error:
        raise ArgumentError("options make the program print something else than its report as JSON") from error
    for one in answer if isinstance(answer, list) else [answer]:
        if one.get("format_version") != _FORMAT_VERSION:
            raise InternalError("the program gemm-tune in this package is of another version")
    return answer


def _row(problem: dict[str, Any]) -> dict[str, Any]:
    winner = problem["winner"] or {}
    baselines = [one for one in winner.get("baselines", ()) if one.get("time_us")]
    best: dict[str, Any] = min(baselines, key=lambda one: one["time_us"], default={})
    time_us, baseline_us = winner.get("time_us"), best.get("time_us")
    return {
        "problem": problem["problem"],
        "device": problem["device"],
        "time_us": time_us,
        "baseline": best.get("name"),
        "baseline_us": baseline_us,
        "speed_up": baseline_us / time_us if time_us and baseline_us else None,
        "source": problem["source"],
        "tried": problem["funnel"]["tried"],
        "seconds": problem["seconds"],
        "config": winner.get("config"),
    }


def tune(
    shapes: Shape | Iterable[Shape],
    *,
    budget: int | str | None = None,
    time: str | None = None,
    arch: str | None = None,
    device: int | None = None,
    database: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
    progress: bool | Callable[[str], None] = True,
) -> Table:
    """Finds the fastest kernel for each shape on the GPU, stores all that was tried, and returns
    the winners, a row each. matmul() uses them from then on, where database is configure()'s.

    shapes: what capture() collected, or any of 1024, (M, N, K), (M, N, K, batch), a text as in
    "128x64x256:layout=nt:batch=8". budget: candidates tried for each, or "all". time: as in
    "15:00". arch: predicts for that architecture where its GPU is not there; source then says
    "predicted". options: further words of the program's command line. progress: False, or who gets
    its lines in place of sys.stderr.

    What was stored before is not tried again, so the same call after an interruption goes on.

    Raises ArgumentError, also without a GPU where arch is left out; DeviceError where NVRTC is missing or options demand a
    GPU that is not there; NoKernelError where no candidate became a winner; DatabaseError where the database cannot be
    opened, read or written; KeyboardInterrupt by Ctrl-C, when all that was finished is stored."""
    is_one = (isinstance(shapes, str) or whole_number(shapes) is not None
              or (isinstance(shapes, tuple) and bool(shapes) and whole_number(shapes[0]) is not None))
    if not is_one and (isinstance(shapes, (bytes, bytearray)) or not hasattr(shapes, "__iter__")):
        raise ArgumentError(f"shapes is {shapes!r}: it must be a shape or several")
    given: list[Any] = [shapes] if is_one else list(shapes)  # type: ignore[arg-type]
    texts = list(dict.fromkeys(shape_text(shape) for shape in given))
    if not texts:
        raise ArgumentError("shapes is empty: name at least one problem")
    if isinstance(options, str):
        raise ArgumentError(f"options is {options!r}: it must be a list of words, as in ['--seed', '3']")
    on_line: Callable[[str], None] | None = None
    if callable(progress):
        on_line = progress
    elif progress:
        on_line = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory(prefix="gemm-tune-") as folder:
        sizes = Path(folder, "shapes.txt")
        sizes.write_text("".join(text + "\n" for text in texts))
        code, output, sentence = _program.run(
            [
                "tune",
                "--json",
                "--sizes",
                f"@{sizes}",
                *_common(database, arch, device),
                *([] if budget is None else ["--budget", str(budget)]),
                *([] if time is None else ["--time", text_of(time, "time", "15:00")]),
                *([] if on_line is not None else ["-q"]),
                *(text_of(word, "a word of options", "--require-gpu") for word in options),
            ],
            on_line,
        )
    report = _answer(output) if output.strip() else None
    _core.reload()
    if report is None or (code != 0 and not any(one["winner"] for one in report["problems"])):
        raise _program.error_of(code, sentence or "no candidate has become a winner")
    rows = [_row(problem) for problem in report["problems"]]
    return Table({key: [row[key] for row in rows] for key in rows[0]}, report)


def explain(
    shape: Shape,
    config: str | None = None,
    *,
    arch: str | None = None,
    device: int | None = None,
    database: str | os.PathLike[str] | None = None,
) -> Table:
    """The config's figures at the shape beside the best other config's, each with its origin:
    compiler, formula or measurement. Without a config, the winner's. Compiles; needs no GPU.

    Raises ArgumentError; DeviceError where NVRTC is missing; DatabaseError where the database is missing or cannot be
    read."""
    words = ["explain", "--json", "--sizes", shape_text(shape), *_common(database, arch, device)]
    code, output, sentence = _program.run([*words, *([] if config is None else [text_of(config, "config", "family/NAME=16")])])
    if code != 0:
        raise _program.error_of(code, sentence)
    explanation = _answer(output)[0]
    figures = explanation["figures"]
    return Table(
        {
            "figure": [one["name"] for one in figures],
            "value": [one.get("value") for one in figures],
            "best_other": [one.get("best_other") for one in figures],
            "from": [one.get("from") for one in figures],
        },
        explanation,
    )
