# SPDX-License-Identifier: Apache-2.0
"""tune() by the model, look-ups and the program, without a GPU."""
import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import gemm_tune
from gemm_tune import _program

DEVICE = "sm_86"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "tuned.db"
    lines = []
    table = gemm_tune.tune([64, (96, 64, 32, 4), "128x64x32:layout=nt"], budget=1, arch=DEVICE, database=path, progress=lines.append)
    return path, table, lines


def test_a_search_returns_a_row_for_each_shape(tuned):
    _, table, lines = tuned
    assert table["problem"] == ["64x64x64", "96x64x32:batch=4", "128x64x32:layout=nt"]
    assert table["source"] == ["predicted"] * 3 and table["tried"] == [1] * 3
    assert all(table["config"]) and table["speed_up"] == [None] * 3
    assert table.rows[0]["problem"] == "64x64x64" and "96x64x32:batch=4" in repr(table)
    assert "<td>64x64x64</td>" in table._repr_html_()
    assert len(table.details["problems"]) == 3
    assert any(problem in line for problem in table["problem"] for line in lines)


def test_a_second_search_tries_nothing_again(tuned):
    path, table, _ = tuned
    lines = []
    again = gemm_tune.tune(64, budget=1, arch=DEVICE, database=path, progress=lines.append)
    assert again["config"] == table["config"][:1]
    assert again.details["problems"][0]["funnel"]["recalled"] == 1


def test_what_was_tuned_is_looked_up(tuned):
    path, table, _ = tuned
    gemm_tune.configure(path)
    recipe = gemm_tune.lookup((64, 64, 64), arch=DEVICE)
    assert (recipe.match, recipe.source, recipe.config) == ("exact", "predicted", table["config"][0])
    assert gemm_tune.lookup("128x64x32:layout=nt", arch=DEVICE).match == "exact"
    assert gemm_tune.lookup(65, arch=DEVICE).match != "exact"
    assert gemm_tune.lookup("64:type=f16", arch=DEVICE).match == "default"


def test_a_search_is_seen_by_later_look_ups(tuned):
    path, _, _ = tuned
    gemm_tune.configure(path)
    assert gemm_tune.lookup((80, 64, 64), arch=DEVICE).match != "exact"
    gemm_tune.tune((80, 64, 64), budget=1, arch=DEVICE, progress=False)  # configure()'s database
    assert gemm_tune.lookup((80, 64, 64), arch=DEVICE).match == "exact"


def test_an_explanation_has_a_row_for_each_figure(tuned):
    path, table, _ = tuned
    figures = gemm_tune.explain(64, table["config"][0], arch=DEVICE, database=path)
    by_name = dict(zip(figures["figure"], figures["value"]))
    assert by_name["registers"] > 0 and set(figures["from"]) >= {"compiler", "formula"}
    assert figures.details["config"] == table["config"][0]


def test_an_interruption_ends_the_search_and_keeps_what_was_stored(tmp_path):
    path = tmp_path / "interrupted.db"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a script started pytest in the background

    def interrupt(line):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        gemm_tune.tune([512, 1024], budget=500, arch=DEVICE, database=path, progress=interrupt)
    assert "the same command goes on from there" in str(raised.value)
    assert path.exists()


def test_an_exception_in_progress_leaves_no_process_and_no_open_file(tmp_path):
    def fail(line):
        raise RuntimeError(line)

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(RuntimeError):
        gemm_tune.tune([512, 1024], budget=500, arch=DEVICE, database=tmp_path / "failed.db", progress=fail)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert len(os.listdir("/proc/self/fd")) == before


def test_shapes_may_be_integers_of_numpy():
    assert gemm_tune.lookup(np.int64(64), arch=DEVICE) == gemm_tune.lookup(64, arch=DEVICE)
    assert gemm_tune.lookup(np.array([64, 32, 16]), arch=DEVICE) == gemm_tune.lookup((64, 32, 16), arch=DEVICE)


def test_shapes_of_numpys_integers_are_tuned(tmp_path):
    table = gemm_tune.tune(tuple(np.array([64, 32, 16])), budget=1, arch=DEVICE, database=tmp_path / "a.db", progress=False)
    assert table["problem"] == ["64x32x16"]


@pytest.mark.parametrize("call, error, sentence", [
    (lambda path: gemm_tune.tune("12y", arch=DEVICE, database=path), gemm_tune.ArgumentError, "size '12y' is not a size"),
    (lambda path: gemm_tune.tune([], arch=DEVICE), gemm_tune.ArgumentError, "shapes is empty"),
    (lambda path: gemm_tune.tune((1, 2), arch=DEVICE), gemm_tune.ArgumentError, r"the shape \(1, 2\) is not \(M, N, K\)"),
    (lambda path: gemm_tune.tune(None, arch=DEVICE), gemm_tune.ArgumentError, "shapes is None"),
    (lambda path: gemm_tune.tune([1.5], arch=DEVICE), gemm_tune.ArgumentError, r"the shape 1.5 is not \(M, N, K\)"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, options=["--help"]), gemm_tune.ArgumentError, "options make the program print"),
    (lambda path: gemm_tune.tune(64, arch="sm_1", database=path), gemm_tune.Error, "sm_1"),
    (lambda path: gemm_tune.tune(" ", arch=DEVICE), gemm_tune.ArgumentError, "the shape ' ' is not a text"),
    (lambda path: gemm_tune.tune("# none", arch=DEVICE), gemm_tune.ArgumentError, "the shape '# none' is not a text"),
    (lambda path: gemm_tune.tune("64\udc80", arch=DEVICE), gemm_tune.ArgumentError, "the shape '64.udc80' is not a text"),
    (lambda path: gemm_tune.lookup(b"646", arch=DEVICE), gemm_tune.ArgumentError, "the shape b'646' is not"),
    (lambda path: gemm_tune.tune(b"646", arch=DEVICE), gemm_tune.ArgumentError, "shapes is b'646'"),
    (lambda path: gemm_tune.tune(10**5000, arch=DEVICE), gemm_tune.ArgumentError, "an edge of a shape is out of range"),
    (lambda path: gemm_tune.lookup("9" * 5000, arch=DEVICE), gemm_tune.ArgumentError, "is not a problem"),
    (lambda path: gemm_tune.tune(64, arch=86), gemm_tune.ArgumentError, "arch is 86: it must be a text, as in 'sm_90'"),
    (lambda path: gemm_tune.tune(64, arch="sm_86\0"), gemm_tune.ArgumentError, "arch is .*: it goes on behind a null character"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, time=60), gemm_tune.ArgumentError, "time is 60: it must be a text, as in '15:00'"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, options="--seed 3"), gemm_tune.ArgumentError, "options is '--seed 3': it must be a list of words"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, options=["--seed", 3]), gemm_tune.ArgumentError, "a word of options is 3: it must be a text"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, database=5), gemm_tune.ArgumentError, "database is 5: it must be a path"),
    (lambda path: gemm_tune.explain(64, 5, arch=DEVICE), gemm_tune.ArgumentError, "config is 5: it must be a text"),
    (lambda path: gemm_tune.configure(5), gemm_tune.ArgumentError, "database is 5: it must be a path"),
    (lambda path: gemm_tune.configure(policy=[]), gemm_tune.ArgumentError, r"policy is '\[\]': it must be one of best"),
    (lambda path: gemm_tune.configure(refine_ms="x"), gemm_tune.ArgumentError, "refine_ms is 'x': it must be a number"),
    (lambda path: gemm_tune.lookup(64, arch=86), gemm_tune.ArgumentError, "arch is 86: it must be a text"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, database=path.parent / "none" / "x.db"), gemm_tune.DatabaseError, "does not exist"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, database=path, options=["--nonsense"]), gemm_tune.ArgumentError, "'--nonsense' is no option"),
    (lambda path: gemm_tune.tune(64, arch=DEVICE, database=path, options=["--require-gpu"]), gemm_tune.DeviceError, "driver|GPU"),
    (lambda path: gemm_tune.tune(64, database=path), gemm_tune.ArgumentError, "without a GPU to ask, name a target"),
    (lambda path: gemm_tune.explain(64, "naive/BM=1", arch=DEVICE), gemm_tune.ArgumentError, "naive/BM=1"),
    (lambda path: gemm_tune.configure(path), gemm_tune.DatabaseError, "does not exist: tune first"),
    (lambda path: gemm_tune.configure(f"{path}\0.db"), gemm_tune.ArgumentError, "behind a null character"),
    (lambda path: gemm_tune.lookup(64, arch="sm_86\0"), gemm_tune.ArgumentError, "arch is .*behind a null character"),
    (lambda path: gemm_tune.configure(policy="fast"), gemm_tune.ArgumentError, "policy is 'fast': it must be one of best"),
    (lambda path: gemm_tune.lookup("64,65", arch=DEVICE), gemm_tune.ArgumentError, "'64,65' is not a problem"),
    (lambda path: gemm_tune.lookup("64:type=f8", arch=DEVICE), gemm_tune.ArgumentError, "'f8' is not a type"),
    (lambda path: gemm_tune.lookup("64:layout=xy", arch=DEVICE), gemm_tune.ArgumentError, "layout=xy"),
    (lambda path: gemm_tune.lookup("64:batch=\u00b2", arch=DEVICE), gemm_tune.ArgumentError, "is not a problem"),
    (lambda path: gemm_tune.lookup((0, 1, 1), arch=DEVICE), gemm_tune.ArgumentError, "'0x1x1' is not a problem"),
    (lambda path: gemm_tune.lookup((64, 64, 2**70), arch=DEVICE), gemm_tune.ArgumentError, "out of range"),
    (lambda path: gemm_tune.lookup(64, alignment=3, arch=DEVICE), gemm_tune.ArgumentError, "64x64x64:align=3"),
    (lambda path: gemm_tune.lookup(64, arch="ampere"), gemm_tune.ArgumentError, "device.arch is 'ampere'"),
    (lambda path: gemm_tune.lookup(64, sm_count=3), gemm_tune.ArgumentError, "device_name and sm_count need arch"),
])
@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="some need a machine without a GPU")
def test_a_failure_is_an_exception_with_the_sentence(tmp_path, call, error, sentence):
    with pytest.raises(error, match=sentence):
        with contextlib.redirect_stderr(io.StringIO()):
            call(tmp_path / "missing.db")


def test_an_error_is_raised_and_not_printed(tmp_path):
    lines = []
    with pytest.raises(gemm_tune.ArgumentError):
        gemm_tune.tune("12y", arch=DEVICE, database=tmp_path / "x.db", progress=lines.append)
    assert lines == []


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="needs a machine without a GPU")
def test_without_a_gpu_a_look_up_on_the_current_device_says_so():
    with pytest.raises(gemm_tune.DeviceError, match="driver.*; or name another target with arch, as in arch='sm_90'$"):
        gemm_tune.lookup(64)


def test_winners_that_ship_are_found_without_a_database(tmp_path, monkeypatch):
    monkeypatch.delenv("GEMM_TUNE_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    gemm_tune.configure()
    recipe = gemm_tune.lookup(1024, arch="sm_90", device_name="NVIDIA H100 80GB HBM3", sm_count=132)
    assert recipe.source == "measured" and "share/gemm-tune/winners" in recipe.explanation


def test_the_program_comes_along():
    scripts = Path(sysconfig.get_path("scripts"))
    for command in ([scripts / "gemm-tune"], [sys.executable, "-m", "gemm_tune"]):
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert answer.stdout.startswith(f"gemm-tune {gemm_tune.__version__}\n")
    refused = subprocess.run([scripts / "gemm-tune", "--sizes", "12y"], capture_output=True, text=True)
    assert refused.returncode == 2


# NVRTC and the driver are hidden; beside the package lies no wheel, or one.
@pytest.mark.skipif("GT_HIDE_LIBRARIES" not in os.environ, reason="needs the audit module of tests/package")
def test_nvrtc_is_found_in_nvidias_wheels_and_missed_with_a_sentence(tmp_path):
    script = (f"import gemm_tune; print(gemm_tune.tune(64, budget=1, arch='{DEVICE}', database={str(tmp_path / 'x.db')!r}, "
              "progress=False, options=['--no-kernel-cache'])['source'])")
    environment = {key: value for key, value in os.environ.items() if key not in ("CUDA_HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV")}
    environment |= {"LD_AUDIT": os.environ["GT_HIDE_LIBRARIES"], "GT_HIDDEN": "libcu libnvrtc", "GT_SHOWN": str(tmp_path)}
    missed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert "gemm_tune._errors.DeviceError: NVRTC 13 cannot be opened" in missed.stderr
    assert 'pip install "nvidia-cuda-nvrtc==13.*"' in missed.stderr
    # The wheel lies beside the package, as pip has it.
    wheel = tmp_path / "nvidia/cu13/lib"
    wheel.mkdir(parents=True)
    for library in Path(os.environ["GT_CUDA_LIBRARIES"]).glob("libnvrtc*.so.13*"):
        (wheel / library.name).symlink_to(library)
    shutil.copytree(Path(gemm_tune.__file__).parent, tmp_path / "gemm_tune")
    environment["PYTHONPATH"] = str(tmp_path)
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert found.stdout == "['predicted']\n", found.stderr


def test_the_program_gets_the_folders_of_wheels_that_python_finds(tmp_path, monkeypatch):
    wheel = tmp_path / "nvidia/cu13/lib"
    wheel.mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/first")
    assert _program._environment()["LD_LIBRARY_PATH"].split(":")[:2] == ["/first", str(wheel)]


def test_a_captured_problem_can_be_looked_up_at_its_alignment():
    assert gemm_tune.lookup("1024:align=4", arch=DEVICE) == gemm_tune.lookup(1024, alignment=4, arch=DEVICE)
    assert gemm_tune.lookup("1024:align=16", arch=DEVICE) == gemm_tune.lookup(1024, arch=DEVICE)
    for text, needs in ("1024:align=4/16/16/16", (4, 16, 16, 16)), ("1024:align=16/8/16/8", (16, 8, 8, 8)):
        needed = gemm_tune.lookup(text, arch=DEVICE).align_bytes
        assert all(one <= most for one, most in zip(needed, needs)), needed


@pytest.mark.parametrize("align", ["3", "4/4", "4/8/4/4/8", "4/4/4/", "", "2", "32"])
def test_an_alignment_is_one_number_of_bytes_or_one_for_each_matrix(align):
    with pytest.raises(gemm_tune.ArgumentError, match=f"1024:align={align}'|align"):
        gemm_tune.lookup(f"1024:align={align}", arch=DEVICE)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="needs a machine without a GPU")
def test_a_search_without_a_gpu_asks_for_the_argument_arch(tmp_path):
    with pytest.raises(gemm_tune.Error, match="name a target with arch, as in arch='sm_86' "):
        gemm_tune.tune(64, database=tmp_path / "tune.db", progress=False)
