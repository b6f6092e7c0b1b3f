# SPDX-License-Identifier: Apache-2.0
"""The program gemm-tune, which the package brings along."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from . import _errors

PROGRAM = str(Path(__file__).parent / "bin" / "gemm-tune")

# The program's exit codes. 4: no candidate survived; 5: every candidate that ran failed.
_ERRORS: dict[int, type[_errors.Error]] = {
    2: _errors.ArgumentError,
    3: _errors.DeviceError,
    4: _errors.NoKernelError,
    5: _errors.NoKernelError,
    6: _errors.DatabaseError,
}
_INTERRUPTED = 130
_PREFIX = "gemm-tune: "


def main() -> None:
    """The command gemm-tune."""
    os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])


def _environment() -> dict[str, str]:
    """With the wheels that Python finds behind the loader's own folders."""
    from . import _folders_of_wheels

    folders = [os.environ.get("LD_LIBRARY_PATH", ""), *_folders_of_wheels()]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}


def error_of(code: int, sentence: str) -> _errors.Error:
    return _ERRORS.get(code, _errors.InternalError)(sentence or f"gemm-tune ended with {code}")


def run(arguments: list[str], on_line: Callable[[str], None] | None = None) -> tuple[int, str, str]:
    """The program's exit code, output and last sentence. on_line gets its lines of progress.

    KeyboardInterrupt lets the program end what it has begun and store it, and is raised then."""
    # A session of its own: Ctrl-C reaches the program once, from here.
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=_environment(),
        start_new_session=True,
    )
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None and stderr is not None
    output: list[str] = []
    reader = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True)
    reader.start()
    interrupted: KeyboardInterrupt | None = None
    held: str | None = None  # the sentence of an exception, unless more follows

    def show(line: str | None) -> None:
        if line is not None and on_line is not None:
            on_line(line)

    with stdout, stderr:
        while True:
            try:
                for line in stderr:
                    before, held = held, None
                    show(before)
                    line = line.rstrip("\n")
                    if line.startswith(_PREFIX):
                        held = line
                    else:
                        show(line)
                reader.join()
                code = process.wait()
                break
            except KeyboardInterrupt as error:
                if interrupted is not None:
                    process.kill()
                else:
                    process.send_signal(signal.SIGINT)
                interrupted = error
            except BaseException:
                process.kill()
                process.wait()
                reader.join()
                raise
    sentence = (held or "").removeprefix(_PREFIX)
    if code == 0:
        show(held)
    if interrupted is not None:
        if code == _INTERRUPTED:
            interrupted.args = (sentence,)
        raise interrupted
    if code == _INTERRUPTED:
        raise KeyboardInterrupt(sentence)
    return code, "".join(output), sentence
