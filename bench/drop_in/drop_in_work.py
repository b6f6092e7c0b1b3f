#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of drop_in.py's work, each with PyTorch in fp32, TF32 off. Knows nothing of the drop-in.

usage: drop_in_work.py [--once] [--seconds N] [--save FILE] [--compare FILE] PART...
  --once: no part repeats its work; for the calls that it makes. --seconds: the longest that one time is measured (10).
  --save: file for the results of the OpInfos. --compare: such a file, of another process, to compare them with.

Prints a JSON object on a line of its own for each part as soon as it is done: "part", and of these what it has: "errors"
(name -> error against fp64, over the largest element), "times" (name -> median ms), "values" (name -> number), "wrong"
(sentences), "note", or "not_run" with the reason.
"""
import argparse
import json
import re
import sys
import time

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


class Clock:
    """Median times of repeated work on the GPU."""

    def __init__(self, torch, seconds, once):
        self.torch, self.seconds, self.once = torch, seconds, once

    def median_ms(self, work):
        """Of at most 20 repeats behind 10 that warm up, fewer where these take too long; None with --once. A call before
        them, which may compile kernels, does not count."""
        work()
        self.torch.cuda.synchronize()
        if self.once:
            return None
        times, began = [], time.monotonic()
        for repeat in range(30):
            start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            work()
            stop.record()
            self.torch.cuda.synchronize()
            late = time.monotonic() - began > self.seconds
            if repeat >= 10 or late:
                times.append(start.elapsed_time(stop))
            if late:
                break
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


def part_operations(torch, clock, options):
    errors = {}
    for name, operation in operations(torch).items():
        result = operation(Maker(torch, torch.float32)).double()
        exact = operation(Maker(torch, torch.float64))
        torch.cuda.synchronize()
        error = ((result - exact).abs().max() / exact.abs().max()).item()
        errors[name] = error if error == error else float("inf")
    return {"errors": errors}


OPINFOS = ("mm", "addmm", "bmm", "baddbmm", "nn.functional.linear", "matmul", "einsum")


def part_opinfos(torch, clock, options):
    """PyTorch's own samples of the operations; compared with stock's results in PyTorch's tolerance for fp32."""
    from torch.testing._internal.common_methods_invocations import op_db
    results = {}
    for op in op_db:
        if op.name not in OPINFOS:
            continue
        torch.manual_seed(1)
        for number, sample in enumerate(op.sample_inputs("cuda", torch.float32)):
            result = op(sample.input, *sample.args, **sample.kwargs)
            results[f"{op.name} {op.variant_test_name} {number}"] = result.detach().cpu()
    if options.save:
        torch.save(results, options.save)
    stock = torch.load(options.compare) if options.compare else results
    wrong = [] if stock.keys() == results.keys() else ["the samples are not those of the other process"]
    for name in stock.keys() & results.keys():
        try:
            torch.testing.assert_close(results[name], stock[name])
        except AssertionError as error:
            wrong.append(f"OpInfo {name}: {' '.join(str(error).split())[:200]}")
    return {"values": {"samples": len(results)}, "wrong": sorted(wrong)}


def part_block(torch, clock, options):
    times = {}
    for name, step in block_step(torch).items():
        times["transformer block, " + name] = clock.median_ms(step)
        times["transformer block, " + name + ", in a CUDA graph"] = clock.median_ms(graphed(torch, step))
    return {"times": times}


def mlp(torch, width):
    torch.manual_seed(1)
    layers = [torch.nn.Linear(width, 2 * width), torch.nn.ReLU(), torch.nn.Linear(2 * width, width), torch.nn.ReLU(),
              torch.nn.Linear(width, 64)]
    return torch.nn.Sequential(*layers).cuda()


def training_step(torch, model, batch, width):
    """A function that trains the model once, and returns the loss."""
    x, y = torch.randn(batch, width, device="cuda"), torch.randn(batch, 64, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def part_mlp(torch, clock, options):
    step = training_step(torch, mlp(torch, 1024), 2048, 1024)
    losses = [step().item() for _ in range(5)]
    return {"times": {"MLP training step": clock.median_ms(step)}, "values": {"MLP loss after 5 steps": losses[-1]}}


def part_compile(torch, clock, options):
    plain = training_step(torch, mlp(torch, 256), 512, 256)
    compiled = training_step(torch, torch.compile(mlp(torch, 256)), 512, 256)
    losses = {"compiled MLP loss": [compiled().item() for _ in range(3)][-1],
              "the same, not compiled": [plain().item() for _ in range(3)][-1]}
    return {"times": {"compiled MLP step": clock.median_ms(compiled)}, "values": losses}


def gaussian_process(torch, x, y):
    """A function that takes one step of fitting an exact Gaussian process by hand, and returns the loss."""
    scales = torch.zeros(3, device="cuda", requires_grad=True)  # logarithms: length, variance, noise
    optimizer = torch.optim.Adam([scales], lr=0.1)
    distances = (x.square().sum(1)[:, None] + x.square().sum(1) - 2 * x @ x.t()).clamp_min(0)

    def step():
        optimizer.zero_grad(set_to_none=True)
        length, variance, noise = scales.exp()
        covariance = variance * torch.exp(-0.5 * distances / length ** 2)
        covariance = covariance + (noise + 1e-3) * torch.eye(len(x), device="cuda")
        factor = torch.linalg.cholesky(covariance)
        weights = torch.cholesky_solve(y[:, None], factor)[:, 0]
        loss = (0.5 * y @ weights + factor.diagonal().log().sum()) / len(x)
        loss.backward()
        optimizer.step()
        return loss

    return step


def gpytorch_process(torch, gpytorch, x, y):
    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, at):
            return gpytorch.distributions.MultivariateNormal(self.mean(at), self.kernel(at))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Model(likelihood).cuda()
    model.train(), likelihood.train()
    likelihood_of_data = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with gpytorch.settings.max_cholesky_size(1_000_000):
            loss = -likelihood_of_data(model(x), y)
            loss.backward()
        optimizer.step()
        return loss

    return step


def part_gp(torch, clock, options):
    torch.manual_seed(1)
    x = torch.randn(2048, 16, device="cuda")
    y = torch.sin(x.sum(1)) + 0.1 * torch.randn(2048, device="cuda")
    try:
        import gpytorch
        step, name = gpytorch_process(torch, gpytorch, x, y), f"gpytorch {gpytorch.__version__}"
    except ModuleNotFoundError:
        step, name = gaussian_process(torch, x, y), "written by hand: no gpytorch here"
    losses = [step().item() for _ in range(5)]
    return {"times": {"Gaussian process, a step of the fit": clock.median_ms(step)},
            "values": {"Gaussian process, loss after 5 steps": losses[-1]}, "note": f"Gaussian process: {name}"}


def part_implicit(torch, clock, options):
    """Of implicit's ALS, whose products are SgemmEx."""
    import implicit.gpu.als
    import scipy.sparse
    import numpy
    plays = scipy.sparse.random(4000, 3000, density=0.01, format="csr", dtype=numpy.float32,
                                random_state=numpy.random.default_rng(1))
    model = implicit.gpu.als.AlternatingLeastSquares(factors=128, iterations=5, random_state=1)

    def fit():
        model.fit(plays, show_progress=False)

    return {"times": {"implicit, 5 iterations": clock.median_ms(fit)}, "note": f"implicit {implicit.__version__}"}


OWN_KERNEL = re.compile(r"^(gemm|repack)$")
CUBLAS_KERNEL = re.compile(r"gemm|gemv|cublas|cutlass|splitk|nvjet|simt", re.IGNORECASE)


def time_of_kernels(kernels):
    """(name, microseconds) of all kernels of the work -> microseconds in ours and in cuBLAS's."""
    own = sum(us for name, us in kernels if OWN_KERNEL.search(name))
    cublas = sum(us for name, us in kernels if CUBLAS_KERNEL.search(name) and not OWN_KERNEL.search(name))
    return own, cublas


def part_kernels(torch, clock, options):
    """Whose kernels multiply in the transformer block."""
    step = block_step(torch)["forward and backward"]
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    kernels = [(event.name, float(event.time_range.elapsed_us())) for event in profile.events()
               if event.device_type == torch.autograd.DeviceType.CUDA]
    own, cublas = time_of_kernels(kernels)
    names = sorted({name for name, _ in kernels if CUBLAS_KERNEL.search(name)})
    return {"values": {"transformer block, us in gemm-tune's kernels": own,
                       "transformer block, us in cuBLAS's kernels": cublas}, "note": "; ".join(names)[:2000]}


def part_calls(torch, clock, options):
    """One step of the transformer block, for counting its calls."""
    block_step(torch)["forward and backward"]()
    torch.cuda.synchronize()
    return {}


PARTS = {name[5:]: value for name, value in list(globals().items()) if name.startswith("part_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--save")
    parser.add_argument("--compare")
    parser.add_argument("parts", nargs="+", choices=list(PARTS))
    options = parser.parse_args()
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(json.dumps({"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}), flush=True)
    for part in options.parts:
        try:
            done = PARTS[part](torch, Clock(torch, options.seconds, options.once), options)
        except Exception as error:  # of other people's libraries: any; the other parts go on
            done = {"not_run": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps({"part": part, **done}), flush=True)


if __name__ == "__main__":
    main()
