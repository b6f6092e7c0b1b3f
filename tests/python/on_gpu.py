#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU, beside PyTorch: results, host time of a call, streams, graphs, torch.compile, autograd.

usage: on_gpu.py [SECTION...]     sections: readme results errors prepared streams graphs overhead autograd compile tune cupy jax

Needs PyTorch with CUDA 13 and the installed package; g++ for the section overhead. A line for each check; exits 1 if one
fails, 77 where the package or PyTorch with a GPU is not there. Sections whose library is not there say so.
"""
import collections
import ctypes
import importlib.metadata
import importlib.util
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

try:
    import torch

    import gemm_tune
    import gemm_tune.torch
    from gemm_tune.lib import _core
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

failures = []
EPSILON = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def report(name, good, detail=""):
    print(f"{'ok  ' if good else 'FAIL'} {name}{': ' if detail else ''}{detail}", flush=True)
    if not good:
        failures.append(name)


def is_right(result, a, b, bias=None):
    """Against fp64, within the bound of a sum in fp32 and one rounding to the result's type."""
    exact, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    if bias is not None:
        exact, size = exact + bias.double(), size + bias.double().abs()
    K = a.shape[-1]
    bound = (K + 4) * EPSILON[torch.float32] * size + 2 * EPSILON[result.dtype] * exact.abs() + 1e-30
    return result.shape == exact.shape and bool(((result.double() - exact).abs() <= bound).all())


def rand(*shape, dtype=torch.float32):
    return (torch.rand(shape, device="cuda", dtype=torch.float32) - 0.5).to(dtype)


def readme():
    """The lines that the package's description shows, in a process and with a database of their own."""
    text = importlib.metadata.metadata("gemm-tune").get_payload()
    lines = text.split("```python\n")[1].split("```")[0] + "print(c.shape)\n"
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([sys.executable, "-c", lines], env={**os.environ, "XDG_DATA_HOME": folder}, capture_output=True, text=True)
    print("     " + ran.stdout.replace("\n", "\n     "))
    report("readme", ran.returncode == 0 and "torch.Size([127, 4096])" in ran.stdout, ran.stderr[-500:])


def results():
    def check(name, a, b, bias=None, out=None):
        try:
            result = gemm_tune.matmul(a, b, bias, out)
            torch.cuda.synchronize()
            report(f"results {name}", is_right(result, a, b, bias) and (out is None or result is out))
        except Exception as error:  # noqa: BLE001: one failure is one line
            report(f"results {name}", False, f"{type(error).__name__}: {error}")

    for M, N, K in [(64, 64, 64), (127, 33, 65), (1, 300, 77), (300, 1, 77), (200, 100, 1), (1, 1, 5), (512, 512, 2048)]:
        a, b, bias = rand(M, K), rand(K, N), rand(N)
        for ta, tb in itertools.product((False, True), repeat=2):
            x = rand(K, M).T if ta else a
            y = rand(N, K).T if tb else b
            check(f"{M}x{N}x{K} {'t' if ta else 'n'}{'t' if tb else 'n'}", x, y)
        check(f"{M}x{N}x{K} bias", a, b, bias)
        check(f"{M}x{N}x{K} out", a, b, out=torch.empty(M, N, device="cuda"))
        check(f"{M}x{N}x{K} out by columns", a, b, out=torch.empty(N, M, device="cuda").T)
        check(f"{M}x{N}x{K} out with bias, rows apart", a, b, bias, torch.empty(M, N + 5, device="cuda")[:, :N])
        check(f"{M}x{N}x{K} rows apart", rand(M, K + 3)[:, 1:K + 1], rand(K, N + 7)[:, :N])
        check(f"{M}x{N}x{K} each second column", rand(M, 2 * K)[:, ::2], rand(K, 3 * N)[:, ::3])
        check(f"{M}x{N}x{K} expanded", rand(1, K).expand(M, K), rand(K, 1).expand(K, N))
    check("batch", rand(7, 33, 40), rand(7, 40, 50))
    check("batch, B shared", rand(7, 33, 40), rand(40, 50))
    check("batch, A shared", rand(33, 40), rand(7, 40, 50))
    check("batch of a sequence's last rows", rand(7, 33, 40)[:, -1:], rand(40, 50))
    check("4 dimensions", rand(2, 3, 33, 40), rand(2, 3, 40, 50))
    check("4 dimensions, broadcast", rand(2, 1, 33, 40), rand(3, 40, 50))
    check("heads of attention", rand(4, 65, 6, 32).transpose(1, 2), rand(4, 65, 6, 32).permute(0, 2, 3, 1))
    check("permuted batch", rand(5, 4, 33, 40).transpose(0, 1), rand(4, 5, 40, 50))
    check("linear layer with bias", rand(4, 65, 128), rand(256, 128).T, rand(256))
    check("batch out by columns", rand(7, 33, 40), rand(7, 40, 50), out=torch.empty(7, 50, 33, device="cuda").mT)
    check("vector by matrix", rand(77), rand(77, 30))
    check("matrix by vector", rand(30, 77), rand(77))
    check("vector by vector", rand(77), rand(77))
    check("batch by vector", rand(5, 30, 77), rand(77))
    for shape_a, shape_b in [((0, 5), (5, 4)), ((3, 5), (5, 0)), ((3, 0), (0, 4)), ((0, 3, 5), (5, 4)), ((2, 0, 5), (2, 5, 4)),
                             ((0,), (0, 4)), ((0,), (0,))]:
        check(f"empty {shape_a} x {shape_b}", rand(*shape_a), rand(*shape_b))
    check("K of 0 with bias", rand(3, 0), rand(0, 4), rand(4))
    for dtype in (torch.float16, torch.bfloat16):
        a, b = rand(65, 128, dtype=dtype), rand(128, 96, dtype=dtype)
        check(f"{dtype}", a, b)
        check(f"{dtype} with bias", a, b, rand(96, dtype=dtype))
        check(f"{dtype} to float32", a, b, out=torch.empty(65, 96, device="cuda"))
        rows, weights = rand(8, 128), rand(96, 128, dtype=dtype).mT
        check(f"float32 by {dtype}", rows, weights)
        check(f"{dtype} by float32 with bias", rand(8, 128, dtype=dtype), rand(128, 96), rand(96))
        report(f"results float32 by {dtype} is float32", gemm_tune.matmul(rows, weights).dtype == torch.float32)
        check(f"{dtype} batch, B transposed", rand(3, 65, 128, dtype=dtype), rand(3, 96, 128, dtype=dtype).mT)
    parameter = torch.nn.Parameter(rand(40, 50))
    with torch.no_grad():
        check("a parameter without grad", rand(30, 40), parameter)


def refuses(name, words, call):
    try:
        call()
        report(f"errors {name}", False, "was accepted")
    except gemm_tune.Error as error:
        report(f"errors {name}", all(word in str(error) for word in words), str(error))
    except Exception as error:  # noqa: BLE001
        report(f"errors {name}", False, f"{type(error).__name__}: {error}")


def errors():
    a, b = rand(3, 5), rand(5, 4)
    refuses("a on the CPU", ["a is in the memory of the CPU"], lambda: gemm_tune.matmul(a.cpu(), b))
    refuses("b on the CPU", ["b is in the memory of the CPU"], lambda: gemm_tune.matmul(a, b.cpu()))
    refuses("float64", ["a is float64"], lambda: gemm_tune.matmul(a.double(), b.double()))
    refuses("int32", ["b int32"], lambda: gemm_tune.matmul(a, b.int()))
    refuses("two types", ["a is float16, b bfloat16"], lambda: gemm_tune.matmul(a.half(), b.bfloat16()))
    refuses("shapes", ["b has shape (4, 5)", "5 rows"], lambda: gemm_tune.matmul(a, b.T))
    refuses("out's shape", ["out has shape (4, 3)"], lambda: gemm_tune.matmul(a, b, out=rand(4, 3)))
    refuses("out's type", ["and out float16"], lambda: gemm_tune.matmul(a, b, out=rand(3, 4).half()))
    refuses("out's strides", ["out has strides"], lambda: gemm_tune.matmul(a, b, out=rand(3, 8)[:, ::2]))
    refuses("bias's shape", ["bias has shape (3,)"], lambda: gemm_tune.matmul(a, b, rand(3)))
    refuses("out is a", ["out shares its memory with a"], lambda: gemm_tune.matmul(a[:, :3], rand(3, 3), out=a[:, :3]))
    refuses("a list", ["a is of the type list"], lambda: gemm_tune.matmul([1.0], b))
    refuses("out with grad", ["out is given"], lambda: gemm_tune.matmul(a.requires_grad_(), b, out=rand(3, 4)))
    if torch.cuda.device_count() > 1:
        refuses("two devices", ["b is on device 1"], lambda: gemm_tune.matmul(a.detach(), b.to("cuda:1")))
        x, y = rand(3, 5).to("cuda:1"), rand(5, 4).to("cuda:1")
        report("results of a device that is not the current one", is_right(gemm_tune.matmul(x, y), x, y)
               and torch.cuda.current_device() == 0)
    else:
        print("     one GPU: a product on another device is not shown")


def prepared():
    if torch.cuda.get_device_capability() != (9, 0):
        return print("     no kernel here prepares operands")
    accuracy = "fp32_f16x3"
    for name, b in (("by rows", rand(520, 384)), ("by columns", rand(384, 520).T), ("with an infinity", rand(520, 384))):
        if name == "with an infinity":
            b[7, 11] = float("inf")
        w = gemm_tune.prepare(b, accuracy)
        for a in (rand(700, 520), rand(2, 5, 520), rand(520)):
            # Of infinities minus infinities neither is a number.
            same = torch.equal(gemm_tune.matmul(a, w).nan_to_num(), gemm_tune.matmul(a, b, accuracy=accuracy).nan_to_num())
            report(f"prepared {name}: the bits of the array, {tuple(a.shape)}", same)
        if name != "with an infinity":
            b.mul_(0.3)
            w.renew()
            report(f"prepared {name}, renewed", torch.equal(gemm_tune.matmul(a, w), gemm_tune.matmul(a, b, accuracy=accuracy)))
    a = rand(8, 520)
    refuses("another class", ["of the accuracy class fp32_f16x3", "of fp32"], lambda: gemm_tune.matmul(a, w, accuracy="fp32"))
    refuses("a prepared b with grad", ["b is prepared"], lambda: gemm_tune.matmul(a.requires_grad_(), w))
    with torch.no_grad():
        report("a prepared b without grad", gemm_tune.matmul(a, w).shape == (8, 384))


def streams():
    side = torch.cuda.Stream()
    a, b = rand(256, 256), rand(256, 256)
    out = torch.zeros(256, 256, device="cuda")
    gemm_tune.matmul(a, b, out=out)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)  # a tenth of a second
        later = a * 2  # there only after the sleep
        result = gemm_tune.matmul(later, b)
        early = not side.query()
    default_is_idle = torch.cuda.default_stream().query()
    side.synchronize()
    report("streams a call follows the current stream's work", early and default_is_idle and is_right(result, 2 * a, b))
    out.zero_()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        gemm_tune.matmul(a, b, out=out)
    on_default = out.clone()
    torch.cuda.default_stream().synchronize()
    untouched = not bool(on_default.any()) if not side.query() else None
    side.synchronize()
    report("streams out is written in the current stream only", untouched is not False and is_right(out, a, b))


def graphs():
    a, b, bias = rand(128, 512), rand(512, 256), rand(256)
    out = torch.empty(128, 256, device="cuda")
    gemm_tune.matmul(a, b, bias, out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gemm_tune.matmul(a, b, bias, out)
        second = gemm_tune.matmul(out, rand_like_static := b.T)
    for _ in range(3):
        a.copy_(rand(128, 512))
        b.copy_(rand(512, 256))
        graph.replay()
        torch.cuda.synchronize()
        report("graphs a replay multiplies the operands of its time", is_right(out, a, b, bias)
               and is_right(second, out, rand_like_static))
    fresh = torch.cuda.CUDAGraph()
    x, y = rand(130, 77), rand(77, 45)  # of no kernel that is loaded
    try:
        with torch.cuda.graph(fresh):
            z = gemm_tune.matmul(x, y)
        fresh.replay()
        torch.cuda.synchronize()
        report("graphs a problem seen first under capture", is_right(z, x, y))
    except Exception as error:  # noqa: BLE001
        report("graphs a problem seen first under capture", False, f"{type(error).__name__}: {error}")


TIMER = r"""
#include <time.h>
typedef int (*sync_t)(void*);
typedef int (*gemm_t)(void*, void*, const void*);
typedef int (*sgemm_t)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                       float*, int);
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
extern "C" void time_gemm(gemm_t gemm, void* handle, void* stream, const void* call, sync_t sync, int count, long* ns) {
  for (int i = 0; i < count; ++i) {
    if (i % 64 == 0) sync(stream);
    const long start = now();
    gemm(handle, stream, call);
    ns[i] = now() - start;
  }
}
extern "C" void time_sgemm(sgemm_t sgemm, void* handle, void* stream, int n, const float* a, const float* b, float* c,
                           sync_t sync, int count, long* ns) {
  const float one = 1, zero = 0;
  for (int i = 0; i < count; ++i) {
    if (i % 64 == 0) sync(stream);
    const long start = now();
    sgemm(handle, 0, 0, n, n, n, &one, a, n, b, n, &zero, c, n);
    ns[i] = now() - start;
  }
}
"""


def overhead():
    count, n = 10_000, 64
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "timer.cpp"), pathlib.Path(folder, "timer.so")
        source.write_text(TIMER)
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        timer = ctypes.CDLL(str(library))
    address = lambda number: ctypes.c_void_p(number)  # noqa: E731
    driver = ctypes.CDLL("libcuda.so.1")
    synchronize = ctypes.cast(driver.cuStreamSynchronize, ctypes.c_void_p)
    a, b, bias, out = rand(n, n), rand(n, n), rand(n), torch.empty(n, n, device="cuda")

    def in_python(call):
        for _ in range(200):
            call()
        times = []
        for i in range(count):
            if i % 64 == 0:
                torch.cuda.synchronize()
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
        return statistics.median(times)

    def in_c(function, *arguments):
        times = (ctypes.c_long * count)()
        for _ in range(2):
            function(*arguments, synchronize, ctypes.c_int(count), times)
        return statistics.median(times)

    gemm_tune.matmul(a, b, out=out)
    gemm, handle, stream, call = _core.c_call_of(a, b, None, out)
    buffer = ctypes.create_string_buffer(call, len(call))
    figures = {}
    empty = in_python(lambda: None)
    figures["an empty call of Python, taken off"] = empty
    figures["gt_gemm in C"] = in_c(timer.time_gemm, address(gemm), address(handle), address(stream), buffer)
    figures["matmul(a, b, out=out)"] = in_python(lambda: gemm_tune.matmul(a, b, out=out)) - empty
    figures["matmul(a, b, bias, out)"] = in_python(lambda: gemm_tune.matmul(a, b, bias, out)) - empty
    figures["matmul(a, b)"] = in_python(lambda: gemm_tune.matmul(a, b)) - empty
    figures["torch.ops.gemm_tune.matmul(a, b)"] = in_python(lambda: torch.ops.gemm_tune.matmul(a, b)) - empty
    figures["all of matmul but gt_gemm"] = in_python(lambda: _core.prepare_only(a, b, None, out)) - empty
    handle = torch.cuda.current_blas_handle()
    cublas = ctypes.CDLL("libcublas.so.13", mode=4)  # RTLD_NOLOAD: PyTorch's own
    sgemm = ctypes.cast(cublas.cublasSgemm_v2, ctypes.c_void_p)
    pointers = [address(x.data_ptr()) for x in (b, a, out)]
    figures["cublasSgemm in C"] = in_c(timer.time_sgemm, sgemm, address(handle), address(stream), ctypes.c_int(n), *pointers)
    figures["torch.mm(a, b, out=out)"] = in_python(lambda: torch.mm(a, b, out=out)) - empty
    figures["torch.mm(a, b)"] = in_python(lambda: torch.mm(a, b)) - empty
    figures = {name: round(ns) for name, ns in figures.items()}
    for name, ns in figures.items():
        print(f"     {ns:7d} ns  {name}")
    ours = figures["matmul(a, b, out=out)"] - figures["gt_gemm in C"]
    theirs = figures["torch.mm(a, b, out=out)"] - figures["cublasSgemm in C"]
    print(f"     {n}x{n}x{n}, medians of {count} calls; served by {gemm_tune.lookup_call(a, b, out=out).match}")
    report("overhead of matmul(out=) over gt_gemm below 1.5 us", ours < 1500, f"{ours} ns; torch.mm(out=) over cublasSgemm {theirs} ns")
    print(json.dumps(figures))


def autograd():
    operator = torch.ops.gemm_tune.matmul
    for name, shapes in {"matrices": [(5, 7), (7, 3), (3,)], "batch": [(2, 5, 7), (7, 3), (3,)], "vector": [(7,), (7, 3)],
                         "two batches": [(4, 5, 7), (4, 7, 3)]}.items():
        inputs = [rand(*shape).requires_grad_() for shape in shapes]
        try:  # in fp32: a product is linear in each operand, so differences are exact but for rounding
            good = torch.autograd.gradcheck(operator, inputs, eps=1e-2, atol=1e-2, rtol=1e-2, nondet_tol=0)
            report(f"autograd gradcheck {name}", good)
        except Exception as error:  # noqa: BLE001
            report(f"autograd gradcheck {name}", False, str(error).splitlines()[0])
        ours = gemm_tune.matmul(*inputs)
        theirs = torch.matmul(*inputs[:2]) + (inputs[2] if len(inputs) > 2 else 0)
        seed = torch.rand_like(ours)
        pairs = zip(torch.autograd.grad(ours, inputs, seed), torch.autograd.grad(theirs, inputs, seed))
        report(f"autograd gradients are torch's: {name}", all(torch.allclose(x, y, atol=1e-5) for x, y in pairs))
    a, b, bias = rand(5, 7).requires_grad_(), rand(7, 3), rand(3)
    for arguments in [(a, b), (a, b, bias), (rand(2, 5, 7), b)]:
        try:
            torch.library.opcheck(operator, arguments)
            report(f"autograd opcheck, {len(arguments)} arguments", True)
        except Exception as error:  # noqa: BLE001
            report(f"autograd opcheck, {len(arguments)} arguments", False, str(error)[:300])


def compile():
    import torch._inductor.config as inductor

    torch.manual_seed(0)
    mlp = torch.nn.Sequential(torch.nn.Linear(256, 512, bias=False), torch.nn.ReLU(), torch.nn.Linear(512, 128, bias=False))
    mlp = mlp.cuda()
    x = rand(64, 256)
    expected = mlp(x)
    gemm_tune.torch.add_to_inductor()
    offered = collections.Counter()  # not capture(): PyTorch compiles nothing under its mode
    try:
        with torch.no_grad(), inductor.patch(force_disable_caches=True):
            _core.set_recorder(lambda problem: offered.update([problem]))
            _core.count_captures(1)
            hooked = torch.compile(mlp, mode="max-autotune-no-cudagraphs")
            result = hooked(x)
            torch.cuda.synchronize()
            timing = sum(offered.values())
            hooked(x)
        served = sum(offered.values()) - timing
        report("compile an MLP with the hook", torch.allclose(result, expected, atol=1e-5) and len(offered) >= 2,
               f"{dict(offered)}; {served} of the 2 products of a call are gemm_tune's")
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        report("compile an MLP with the hook", False, f"{type(error).__name__}: {str(error)[:500]}")
    finally:
        _core.count_captures(-1)
        _core.set_recorder(gemm_tune._capture._note)
        inductor.external_matmul.clear()

    class Ours(torch.nn.Module):
        def forward(self, x, one, two):
            return torch.ops.gemm_tune.matmul(torch.relu(torch.ops.gemm_tune.matmul(x, one)), two)

    one, two = mlp[0].weight.detach().T, mlp[2].weight.detach().T
    for dynamic in (False, True):
        for mode in ("default", "reduce-overhead"):
            result = torch.compile(Ours(), fullgraph=True, dynamic=dynamic, mode=mode)(x, one, two)
            report(f"compile the operator, {mode}, {'dynamic' if dynamic else 'static'} shapes",
                   torch.allclose(result, expected, atol=1e-5))
    weights = one.clone().requires_grad_()
    torch.compile(lambda x, w: torch.ops.gemm_tune.matmul(x, w).square().sum(), fullgraph=True)(x, weights).backward()
    theirs = one.clone().requires_grad_()
    (x @ theirs).square().sum().backward()
    report("compile forwards and backwards", torch.allclose(weights.grad, theirs.grad, rtol=1e-3, atol=1e-3))


def tune():
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder, "tuned.db")
        lines = []
        with gemm_tune.capture() as shapes:
            gemm_tune.matmul(rand(300, 512), rand(400, 512).T)
        report("tune capture", list(shapes) == ["300x400x512:layout=nt"], str(list(shapes)))
        start = time.monotonic()
        table = gemm_tune.tune(shapes, budget=8, database=database, progress=lines.append)
        print(f"     {time.monotonic() - start:.1f} s")
        print("     " + repr(table).replace("\n", "\n     "))
        print("     progress: " + " | ".join(lines))
        report("tune measures", table["source"] == ["measured"] and table["time_us"][0] > 0)
        gemm_tune.configure(database)
        recipe = gemm_tune.lookup("300x400x512:layout=nt")
        report("tune lookup", recipe.source == "measured" and recipe.tuned_us is not None, recipe.explanation)
        a, b = rand(300, 512), rand(400, 512).T
        report("tune what was tuned multiplies", is_right(gemm_tune.matmul(a, b), a, b))
        report("tune lookup of a call", gemm_tune.lookup_call(a, b).config is not None)
        print(gemm_tune.explain("300x400x512:layout=nt", database=database))
        gemm_tune.configure()


def cupy():
    if importlib.util.find_spec("cupy") is None:
        return print("     no CuPy")
    import cupy as cp

    print("     CuPy", cp.__version__, "exchange API" if hasattr(cp.ndarray, "__dlpack_c_exchange_api__") else "no exchange API")
    a, b = cp.random.rand(33, 40, dtype="f4"), cp.random.rand(40, 50, dtype="f4")
    for name, x, y in [("plain", a, b), ("transposed", cp.random.rand(40, 33, dtype="f4").T, b), ("copied", cp.random.rand(33, 80, dtype="f4")[:, ::2], b),
                       ("backwards", a[::-1], b), ("batch", cp.random.rand(3, 33, 40, dtype="f4"), b), ("empty", a[:0], b)]:
        result = gemm_tune.matmul(x, y)
        report(f"cupy {name}", type(result) is cp.ndarray and bool(cp.allclose(result, x @ y, atol=1e-4)))
    side = cp.cuda.Stream(non_blocking=True)
    with side:
        result = gemm_tune.matmul(a, b)
    side.synchronize()
    report("cupy stream", bool(cp.allclose(result, a @ b, atol=1e-4)))
    out = cp.empty((33, 50), "f4")
    report("cupy out", gemm_tune.matmul(a, b, out=out) is out and bool(cp.allclose(out, a @ b, atol=1e-4)))
    refuses("cupy with torch", ["b is of PyTorch and a of CuPy"], lambda: gemm_tune.matmul(a, rand(40, 50)))


def jax():
    if importlib.util.find_spec("jax") is None:
        return print("     no JAX")
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return print("     JAX sees no GPU")
    a = jnp.ones((33, 40))
    refuses("jax without out", ["out is needed"], lambda: gemm_tune.matmul(a, a.T))


def main():
    if not torch.cuda.is_available():
        print("skipped: PyTorch sees no GPU")
        sys.exit(77)
    sections = [readme, results, errors, prepared, streams, graphs, overhead, autograd, compile, tune, cupy, jax]
    asked = sys.argv[1:] or [section.__name__ for section in sections]
    print(f"gemm_tune {gemm_tune.__version__} in {pathlib.Path(gemm_tune.__file__).parent}, PyTorch {torch.__version__}, "
          f"Python {sys.version.split()[0]}, {torch.cuda.get_device_name()}")
    torch.backends.cuda.matmul.allow_tf32 = False
    for section in sections:
        if section.__name__ not in asked:
            continue
        print(f"== {section.__name__}", flush=True)
        try:
            section()
        except Exception:  # noqa: BLE001: the others still have their say
            traceback.print_exc()
            report(section.__name__, False, "ended by an exception")
    print(f"{len(failures)} failures" + (": " + "; ".join(failures) if failures else ""))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
