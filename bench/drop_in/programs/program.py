# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: their options, times, and the line of JSON that each prints.

The line: "program", "dtype", "library" (with versions), "gpu", "ms" (name -> median milliseconds of a step on the host's
clock, the GPU waited for), "digest" (numbers that depend on every product: losses, samples of results), "bound" (the largest
difference of two digests, over the largest number, that rounding explains), and "note" where there is one to make.
"""
import argparse
import json
import statistics
import time

# Differences of sums in another order; of bf16, one rounding of 2^-8 for each of several layers.
BOUNDS = {"fp32": 1e-4, "bf16": 3e-2}


def options(description, dtypes=("fp32", "bf16")):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=dtypes, default=dtypes[0])
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed, behind three that are not")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that a CPU computes in seconds")
    return parser.parse_args()


def times_of(step, wait, steps, warm=3):
    """What each step returned, and the median of the timed steps in ms. wait: returns when the GPU has done all."""
    results, times = [], []
    for number in range(warm + steps):
        wait()
        start = time.perf_counter()
        results.append(step())
        wait()
        if number >= warm:
            times.append(1e3 * (time.perf_counter() - start))
    return results, statistics.median(times)


def tell(program, asked, library, gpu, ms, digest, note=None):
    line = {"program": program, "dtype": asked.dtype, "library": library, "gpu": gpu,
            "ms": {name: round(value, 4) for name, value in ms.items()}, "digest": [float(x) for x in digest],
            "bound": BOUNDS[asked.dtype]}
    print(json.dumps({**line, **({"note": note} if note else {})}), flush=True)


def torch_of(asked):
    """(torch with TF32 off and a seed, a function that waits for the GPU, the GPU's name, the dtype)."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    is_cuda = asked.device == "cuda"
    return (torch, torch.cuda.synchronize if is_cuda else lambda: None,
            torch.cuda.get_device_name() if is_cuda else "cpu",
            {"fp32": torch.float32, "bf16": torch.bfloat16}[asked.dtype])


def graphed(torch, step):
    """The step as a CUDA graph. It has run before, so that no kernel is compiled while the graph is captured."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
