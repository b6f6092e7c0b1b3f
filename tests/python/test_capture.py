# SPDX-License-Identifier: Apache-2.0
"""Captured problems, and PyTorch's operator where PyTorch is."""
import subprocess
import sys
import threading
import types

import pytest

import gemm_tune
from gemm_tune import _capture
from gemm_tune.lib import _core


def test_captured_problems_come_with_the_most_operations_first(tmp_path):
    shapes = gemm_tune.Shapes()
    for problem in ["8x8x8", "64x64x64", "8x8x8", "8x8x8:batch=1000"]:
        shapes.calls[problem] += 1
    assert list(shapes) == ["8x8x8:batch=1000", "64x64x64", "8x8x8"]
    assert shapes.table()["calls"] == [1, 1, 2]
    shapes.save(tmp_path / "shapes.txt")
    assert (tmp_path / "shapes.txt").read_text().splitlines()[2] == "8x8x8  # 2 calls"


def test_captures_may_lie_within_one_another():
    with gemm_tune.capture() as outer:
        _capture._note("1x1x1")
        with gemm_tune.capture() as inner:
            _capture._note("2x2x2")
        _capture._note("3x3x3")
    _capture._note("4x4x4")
    assert set(outer) == {"1x1x1", "2x2x2", "3x3x3"} and set(inner) == {"2x2x2"}


def test_each_thread_has_its_own_captures():
    barrier, seen = threading.Barrier(4), {}

    def multiply(size):
        with gemm_tune.capture() as shapes:
            barrier.wait()
            for _ in range(1000):
                _capture._note(f"{size}x{size}x{size}")
            barrier.wait()
        seen[size] = dict(shapes.calls)

    threads = [threading.Thread(target=multiply, args=(size,)) for size in range(1, 5)]
    for one in threads:
        one.start()
    with gemm_tune.capture() as mine:
        for one in threads:
            one.join()
    assert seen == {size: {f"{size}x{size}x{size}": 1000} for size in range(1, 5)} and len(mine) == 0
    assert _core.count_captures(0) == 0


def test_captures_may_be_closed_in_any_order_and_by_another_thread():
    first, second, third = gemm_tune.capture(), gemm_tune.capture(), gemm_tune.capture()
    a, b, c = first.__enter__(), second.__enter__(), third.__enter__()
    first.__exit__(None, None, None)
    _capture._note("1x1x1")
    other = threading.Thread(target=lambda: third.__exit__(None, None, None))
    other.start()
    other.join()
    _capture._note("2x2x2")
    second.__exit__(None, None, None)
    _capture._note("3x3x3")
    assert (dict(a.calls), dict(b.calls), dict(c.calls)) == ({}, {"1x1x1": 1, "2x2x2": 1}, {"1x1x1": 1})
    assert _core.count_captures(0) == 0


def test_the_mode_of_pytorch_lasts_as_long_as_a_capture_needs_it_and_leaves_in_its_own_thread(monkeypatch):
    log = []

    class Mode:
        def __init__(self, note, as_in_its_thread):
            pass

        def __enter__(self):
            log.append("on")

        def __exit__(self, *_):
            log.append("off")

    stand_in = types.ModuleType("gemm_tune._torch_capture")
    stand_in.ProductMode = Mode
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "gemm_tune._torch_capture", stand_in)
    monkeypatch.setattr(_capture._here, "captures", _capture._Captures())
    first, second = gemm_tune.capture(), gemm_tune.capture()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert log == ["on"]
    second.__exit__(None, None, None)
    assert log == ["on", "off"]
    third = gemm_tune.capture()
    third.__enter__()
    other = threading.Thread(target=lambda: third.__exit__(None, None, None))
    other.start()
    other.join()
    assert log == ["on", "off", "on"]
    with gemm_tune.capture() as shapes:
        _capture._note("1x1x1")
    assert log == ["on", "off", "on"] and len(shapes) == 1 and _core.count_captures(0) == 0


def test_the_garbage_collector_may_close_a_capture_while_another_is_opened_or_closed():
    script = """
import gc
import gemm_tune
from gemm_tune.lib import _core
def abandon():
    def multiply():
        with gemm_tune.capture():
            yield
    one = multiply()
    next(one)
    ring = [one]
    ring.append(ring)
gc.set_threshold(1)
for _ in range(3000):
    abandon()
    with gemm_tune.capture():
        pass
gc.collect()
print(_core.count_captures(0))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert ran.stdout == "0\n", ran.stderr


def test_products_of_pytorch_are_captured_in_each_thread():
    torch = pytest.importorskip("torch")
    barrier, seen = threading.Barrier(2), {}

    def multiply(size):
        with gemm_tune.capture() as shapes:
            barrier.wait()
            torch.rand(size, 3) @ torch.rand(3, 4)
            with gemm_tune.capture() as inner:
                torch.rand(size, 5) @ torch.rand(5, 4)
            barrier.wait()
        seen[size] = dict(shapes.calls), dict(inner.calls)

    threads = [threading.Thread(target=multiply, args=(size,)) for size in (6, 7)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen == {size: ({f"{size}x4x3": 1, f"{size}x4x5": 1}, {f"{size}x4x5": 1}) for size in (6, 7)}


def test_captures_of_another_thread_that_runs_gradients_are_those_of_who_asked():
    with gemm_tune.capture() as shapes:
        captures = _capture._here.captures

        def gradients():
            _capture._note("1x1x1")
            with _capture._captures_of(captures):
                _capture._note("2x2x2")
            _capture._note("3x3x3")

        other = threading.Thread(target=gradients)
        other.start()
        other.join()
    assert dict(shapes.calls) == {"2x2x2": 1}


def test_products_of_pytorch_are_captured_forwards_and_backwards():
    torch = pytest.importorskip("torch")
    layer, x = torch.nn.Linear(5, 6), torch.rand(4, 5, requires_grad=True)
    with gemm_tune.capture() as shapes:
        y = layer(x)
        y.backward(torch.rand(4, 6))
        torch.bmm(torch.rand(2, 3, 4), torch.rand(2, 4, 5))
        torch.rand(3, 3).double() @ torch.rand(3, 3).double()
    assert dict(shapes.calls) == {"4x6x5:layout=nt": 1, "4x5x6": 1, "6x5x4:layout=tn": 1, "3x5x4:batch=2": 1}


def operands(*shapes, dtype="float32"):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return [torch.rand(shape, dtype=getattr(torch, dtype), requires_grad=True) for shape in shapes]


CASES = [((5, 7), (7, 3)), ((5, 7), (7, 3), (3,)), ((2, 5, 7), (7, 3), (3,)), ((7,), (7, 3)), ((5, 7), (7,)), ((4, 1, 5, 7), (2, 7, 3))]


@pytest.mark.parametrize("shapes", CASES)
def test_the_operator_passes_opcheck_and_gradcheck(shapes):
    torch = pytest.importorskip("torch")
    import gemm_tune.torch

    operator = torch.ops.gemm_tune.matmul
    torch.library.opcheck(operator, operands(*shapes))
    doubles = operands(*shapes, dtype="float64")
    assert torch.autograd.gradcheck(operator, doubles)
    assert torch.autograd.gradgradcheck(operator, doubles)


def test_the_operator_with_a_result_given_passes_opcheck():
    torch = pytest.importorskip("torch")
    import gemm_tune.torch

    torch.library.opcheck(torch.ops.gemm_tune.matmul_out, (torch.rand(5, 7), torch.rand(7, 3), torch.rand(3), torch.empty(5, 3)))


def test_the_fake_kernel_has_the_shape_and_refuses_as_the_kernel():
    torch = pytest.importorskip("torch")
    import gemm_tune.torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = torch.empty(2, 5, 7, device="cuda"), torch.empty(7, 3, device="cuda")
        result = torch.ops.gemm_tune.matmul(a, b)
        assert result.shape == (2, 5, 3) and result.device.type == "cuda" and result.is_contiguous()
        assert gemm_tune.matmul(a, b).shape == (2, 5, 3)  # a subclass of tensors
        with pytest.raises(RuntimeError, match="b has 5 rows"):
            torch.ops.gemm_tune.matmul(a, torch.empty(5, 3, device="cuda"))


def test_matmul_of_tensors_that_require_grad_is_the_operators():
    torch = pytest.importorskip("torch")
    a, b = operands((5, 7), (7, 3))
    gemm_tune.matmul(a, b).sum().backward()
    expected = operands((5, 7), (7, 3))
    (expected[0] @ expected[1]).sum().backward()
    assert torch.allclose(a.grad, expected[0].grad) and torch.allclose(b.grad, expected[1].grad)
    with pytest.raises(gemm_tune.ArgumentError, match="out is given where"):
        gemm_tune.matmul(a, b, out=torch.empty(5, 3))
    with pytest.raises(gemm_tune.ArgumentError, match="a is in the memory of the CPU"):
        gemm_tune.matmul(a.detach(), b.detach())


def test_the_compiler_of_pytorch_takes_the_operator_and_the_hook(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    import gemm_tune.torch
    import torch._inductor.config as config

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    compiled = torch.compile(lambda x, w: torch.ops.gemm_tune.matmul(x, w).relu(), fullgraph=True)
    x, w = torch.rand(4, 5), torch.rand(5, 6, requires_grad=True)
    result = compiled(x, w)
    assert torch.allclose(result, (x @ w).relu())
    result.sum().backward()
    assert w.grad is not None
    gemm_tune.torch.add_to_inductor()
    gemm_tune.torch.add_to_inductor()
    assert config.external_matmul.count(gemm_tune.torch.gemm_tune_matmul) == 1
    with torch.no_grad():
        layer = torch.nn.Linear(64, 32, bias=False)
        x = torch.rand(16, 64)
        assert torch.allclose(torch.compile(layer, mode="max-autotune-no-cudagraphs")(x), layer(x), atol=1e-6)
    config.external_matmul.clear()


def test_parameters_without_autograd_are_read_as_any_tensor():
    torch = pytest.importorskip("torch")
    from gemm_tune.lib import _core

    parameter = torch.nn.Parameter(torch.rand(4, 3))
    [call] = _core.calls_of(torch.rand(2, 4), parameter, None, torch.empty(2, 3))
    assert call["B"] == parameter.data_ptr()
    with torch.no_grad(), pytest.raises(gemm_tune.ArgumentError, match="a is in the memory of the CPU"):
        gemm_tune.matmul(torch.rand(2, 4), parameter)


def test_matmul_under_vmap_is_the_operators():
    torch = pytest.importorskip("torch")
    a, b = torch.rand(3, 4, 5), torch.rand(5, 2)
    assert torch.allclose(torch.vmap(lambda x: gemm_tune.matmul(x, b))(a), a @ b)


def test_tensors_are_read_by_their_attributes_where_pytorch_is_older():
    pytest.importorskip("torch")
    script = """
import torch
del torch.Tensor.__dlpack_c_exchange_api__
import gemm_tune
from gemm_tune.lib import _core
a, b, out = torch.rand(2, 4), torch.rand(3, 4).T, torch.empty(2, 3)
[call] = _core.calls_of(a, b, None, out)
assert call["problem"] == "2x3x4:layout=nt" and call["B"] == b.data_ptr(), call
assert _core.prepare_only(a, b).shape == (2, 3)
try:
    gemm_tune.matmul(a.double(), b)
except gemm_tune.ArgumentError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout == "a is in the memory of the CPU: it must be on a CUDA device, as tensor.cuda() or cupy.asarray() put it there\n", ran.stderr
