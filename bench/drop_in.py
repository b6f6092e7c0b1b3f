#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch in fp32 with and without the drop-in, on one GPU: results, served calls, times.

usage: drop_in.py [--budget N] [--db FILE] [--without-lt] BIN LIBRARY OUT
  BIN: the folder of the built gemm-tune. LIBRARY: libgemm_tune_blas.so, with libgemm_tune.so.0 beside it. OUT: a folder
  for what is made on the way; it is made if missing.
  --budget: gemm-tune's, for each shape (default 32). --db: a tuned database; nothing is tuned then.
  --without-lt: PyTorch with DISABLE_ADDMM_CUDA_LT=1, so that addmm with a bias calls cublasSgemm, too.

Four processes do the same work: (1) as it is; (2) under the drop-in with an empty database, which lists the shapes;
(3) gemm-tune tunes these, the most work first; (4) under the drop-in with that database. TF32 is off. The errors are
against fp64, over the largest element. Exit code: 0; 1 where a result of (4) is off by more than 1e-5 and twice the
error of (1), or where no call was served.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

MOST_ERROR = 1e-5


def operations(torch):
    """Name -> a function of (a maker of inputs) that returns a tensor; each is done in fp32 and in fp64."""
    functional = torch.nn.functional

    def backward(make):
        x, weight, bias = (make(512, 384).requires_grad_(), make(256, 384).requires_grad_(), make(256).requires_grad_())
        functional.linear(x, weight, bias).square().sum().backward()
        return torch.cat([x.grad.flatten(), weight.grad.flatten(), bias.grad.flatten()])

    def strided_out(make):
        out = torch.zeros(300, 700, device="cuda", dtype=make.dtype)
        torch.mm(make(300, 200), make(200, 640), out=out[:, :640])
        return out

    def of_graph(make):
        a, b, c = make(512, 256), make(256, 512), make(8, 128, 256)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(2):
                a @ b, torch.bmm(c, c.transpose(1, 2))
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            product, batched = a @ b, torch.bmm(c, c.transpose(1, 2))
        for factor in (2, 3):
            a.mul_(factor)
            graph.replay()
        torch.cuda.synchronize()
        return torch.cat([product.flatten(), batched.flatten()])

    def of_new_graph(make):  # a shape that no call outside the graph has had
        a, b = make(320, 448), make(448, 576)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            product = a @ b
        graph.replay()
        torch.cuda.synchronize()
        return product

    return {
        "mm": lambda make: torch.mm(make(1024, 1024), make(1024, 1024)),
        "mm, B transposed": lambda make: make(512, 768) @ make(640, 768).t(),
        "mm, A transposed": lambda make: make(768, 512).t() @ make(768, 640),
        "mm, both transposed": lambda make: make(768, 512).t() @ make(640, 768).t(),
        "mm, odd sizes": lambda make: make(333, 517) @ make(517, 259),
        "mm, misaligned": lambda make: make(257 * 512 + 1)[1:].view(257, 512) @ make(512, 256),
        "mm, skinny": lambda make: make(8, 4096) @ make(4096, 1024),
        "mm, part of a matrix": strided_out,
        "addmm, a matrix": lambda make: torch.addmm(make(512, 640), make(512, 768), make(768, 640), beta=0.5, alpha=2),
        "addmm, a bias": lambda make: torch.addmm(make(640), make(512, 768), make(768, 640)),
        "bmm": lambda make: torch.bmm(make(32, 128, 64), make(32, 64, 128)),
        "baddbmm": lambda make: torch.baddbmm(make(16, 96, 160), make(16, 96, 128), make(16, 128, 160)),
        "linear": lambda make: functional.linear(make(512, 1024), make(768, 1024), make(768)),
        "linear, no bias": lambda make: functional.linear(make(512, 1024), make(768, 1024)),
        "einsum": lambda make: torch.einsum("bij,bkj->bik", make(16, 192, 96), make(16, 224, 96)),
        "matmul, broadcast": lambda make: make(4, 8, 64, 96) @ make(96, 128),
        "linear, backward": backward,
        "linalg.solve": lambda make: torch.linalg.solve(
            make(512, 512) + 40 * torch.eye(512, device="cuda", dtype=make.dtype), make(512, 128)),
        "CUDA graph": of_graph,
        "CUDA graph, new shape": of_new_graph,
    }


class Maker:
    """Makes the same random tensors in either type."""

    def __init__(self, torch, dtype):
        self.torch, self.dtype = torch, dtype
        self.generator = torch.Generator(device="cuda").manual_seed(1)

    def __call__(self, *shape):
        return self.torch.randn(*shape, generator=self.generator, device="cuda").to(self.dtype)


def block_step(torch):
    """A function that does forward and backward of a transformer block: width 1024, 16 heads, 8 sequences of 512."""
    torch.manual_seed(1)
    width, heads, batch, length = 1024, 16, 8, 512
    norm_1, norm_2 = (torch.nn.LayerNorm(width).cuda() for _ in range(2))
    qkv, out = torch.nn.Linear(width, 3 * width).cuda(), torch.nn.Linear(width, width).cuda()
    up, down = torch.nn.Linear(width, 4 * width).cuda(), torch.nn.Linear(4 * width, width).cuda()
    x = torch.randn(batch, length, width, device="cuda", requires_grad=True)

    def forward():
        q, k, v = (part.view(batch, length, heads, -1).transpose(1, 2) for part in qkv(norm_1(x)).chunk(3, dim=-1))
        weights = torch.softmax(q @ k.transpose(2, 3) / (width // heads) ** 0.5, dim=-1)
        y = x + out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return y + down(torch.nn.functional.gelu(up(norm_2(y))))

    def step():
        x.grad = None
        forward().square().mean().backward()

    def inference():
        with torch.no_grad():
            forward()

    return {"forward": inference, "forward and backward": step}


def median_ms(torch, work):
    times = []
    for repeat in range(30):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        if repeat >= 10:
            times.append(start.elapsed_time(stop))
    return sorted(times)[len(times) // 2]


def graphed(torch, work):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def work():
    """What each process does; prints one JSON object."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    errors, times = {}, {}
    for name, operation in operations(torch).items():
        result = operation(Maker(torch, torch.float32)).double()
        exact = operation(Maker(torch, torch.float64))
        torch.cuda.synchronize()
        error = ((result - exact).abs().max() / exact.abs().max()).item()
        errors[name] = error if error == error else float("inf")
    for name, step in block_step(torch).items():
        times[name] = median_ms(torch, step)
        times[name + ", in a CUDA graph"] = median_ms(torch, graphed(torch, step))
    print(json.dumps({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "errors": errors,
                      "times": times}))


def cuda_libraries():
    """The folder of the CUDA libraries that came with PyTorch, where gemm-tune finds NVRTC and cuBLAS."""
    spec = importlib.util.find_spec("nvidia")
    folders = [pathlib.Path(at) / "cu13" / "lib" for at in spec.submodule_search_locations] if spec else []
    return [str(folder) for folder in folders if folder.is_dir()]


def run(command, environment):
    environment = {**os.environ, **environment}
    known = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    environment["LD_LIBRARY_PATH"] = ":".join(known + cuda_libraries())
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}")
    return done.stdout


def run_work(environment):
    return json.loads(run([sys.executable, __file__, "--work"], environment).splitlines()[-1])


def read_report(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for line in lines:
        if "error" in line:
            print(f"{line['program']}: {line['error']}")
    return [line for line in lines if "m" in line]


def problem_of(shape):
    """gemm-tune's text: a column-major product is the row-major one with the operands swapped."""
    layout = "".join("n" if op == "N" else "t" for op in (shape["op_b"], shape["op_a"]))
    batch = f":batch={shape['batch']}" if shape["batch"] > 1 else ""
    return f"{shape['n']}x{shape['m']}x{shape['k']}:layout={layout}{batch}"


def flops(shape):
    return 2 * shape["m"] * shape["n"] * shape["k"] * shape["batch"]


def calls(shape):
    return shape["served"] + sum(shape["declined"].values())


def problems_of(report):
    """The fp32 problems with kernels to tune, the most work first."""
    work_of = {}
    for shape in report:
        if [shape["type_a"], shape["type_b"], shape["type_c"]] == ["f32"] * 3 and flops(shape) > 0:
            text = problem_of(shape)
            work_of[text] = work_of.get(text, 0) + calls(shape) * flops(shape)
    return sorted(work_of, key=work_of.get, reverse=True)


def print_served(report):
    served = sum(shape["served"] for shape in report)
    everything = sum(map(calls, report))
    share = sum(s["served"] * flops(s) for s in report) / max(1, sum(calls(s) * flops(s) for s in report))
    print(f"served {served} of {everything} calls, {100 * share:.1f} % of their operations")
    reasons = {}
    for shape in report:
        for reason, count in shape["declined"].items():
            reasons.setdefault(reason, []).append((count, f"{shape['function']} {problem_of(shape)} {shape['type_a']}"))
    for reason, shapes in sorted(reasons.items()):
        shapes.sort(reverse=True)
        print(f"  declined {sum(count for count, _ in shapes)}: {reason}: {', '.join(text for _, text in shapes[:4])}"
              + (", ..." if len(shapes) > 4 else ""))
    return served


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="32")
    parser.add_argument("--db")
    parser.add_argument("--without-lt", action="store_true")
    for name in ("bin", "library", "out"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    common = {"DISABLE_ADDMM_CUDA_LT": "1"} if options.without_lt else {}

    def under_drop_in(db, report):
        report.unlink(missing_ok=True)
        return run_work({**common, "LD_PRELOAD": str(options.library), "GEMM_TUNE_DB": str(db),
                         "GEMM_TUNE_BLAS_REPORT": str(report), "XDG_CACHE_HOME": str(out / "cache")})

    stock = run_work(common)
    print(f"PyTorch {stock['torch']} on {stock['gpu']}" + (", without cublasLt in addmm" if options.without_lt else ""))
    db = pathlib.Path(options.db).resolve() if options.db else out / "drop_in.db"
    if not options.db:
        under_drop_in(out / "missing.db", out / "untuned.jsonl")
        problems = problems_of(read_report(out / "untuned.jsonl"))
        print(f"tuning {len(problems)} problems", flush=True)
        run([options.bin / "gemm-tune", "--require-gpu", "-q", "--db", db, "--budget", options.budget, "--sizes",
             ",".join(problems)], {"XDG_CACHE_HOME": str(out / "cache")})
    tuned = under_drop_in(db, out / "served.jsonl")
    served = print_served(read_report(out / "served.jsonl"))
    wrong = [name for name, error in tuned["errors"].items()
             if not error <= max(MOST_ERROR, 2 * stock["errors"][name])]
    print(f"\n{'operation':<28}{'error, stock':>14}{'error, drop-in':>16}")
    for name, error in tuned["errors"].items():
        print(f"{name:<28}{stock['errors'][name]:>14.2e}{error:>16.2e}{'  wrong' if name in wrong else ''}")
    print(f"\n{'transformer block':<40}{'stock, ms':>12}{'drop-in, ms':>14}{'speed':>8}")
    for name, time in tuned["times"].items():
        before = stock["times"][name]
        print(f"{name:<40}{before:>12.3f}{time:>14.3f}{before / time:>8.3f}")
    (out / "drop_in.json").write_text(json.dumps({"stock": stock, "drop_in": tuned}, indent=1))
    sys.exit(1 if wrong or served == 0 else 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        main()
