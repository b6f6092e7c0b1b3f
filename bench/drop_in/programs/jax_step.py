#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a transformer block and a head in JAX: width 1024, 16 heads, 8 sequences of 512. Prints a line of JSON
(program.py).

XLA multiplies by cuBLAS, cublasLt or Triton kernels of its own. --gemm cublas (the default) turns Triton off, so that
every product is a library's; as-it-is leaves XLA its choice. fp32 is fp32: JAX's default would be TF32.
"""
import argparse
import os
import sys

import program


def parameters(jax, numpy, width, outputs, dtype):
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 8))

    def weight(inputs, outputs):
        return (jax.random.normal(next(keys), (inputs, outputs)) * inputs ** -0.5).astype(dtype)

    return {"qkv": weight(width, 3 * width), "o": weight(width, width), "up": weight(width, 4 * width),
            "down": weight(4 * width, width), "head": weight(width, outputs), "bias": numpy.zeros(4 * width, dtype)}


def loss_of(jax, numpy, heads):
    def norm(x):
        y = x.astype(numpy.float32)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return y.astype(x.dtype)

    def loss(weights, x, y):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, heads, -1) for part in numpy.split(norm(x) @ weights["qkv"], 3, axis=-1))
        scores = numpy.einsum("bqhd,bkhd->bhqk", q, k).astype(numpy.float32) * (width // heads) ** -0.5
        attended = numpy.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v)
        x = x + attended.reshape(batch, length, width) @ weights["o"]
        x = x + jax.nn.gelu(norm(x) @ weights["up"] + weights["bias"]) @ weights["down"]
        return numpy.mean(numpy.square((norm(x) @ weights["head"]).astype(numpy.float32) - y))

    return loss


def main():
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--gemm", choices=("cublas", "as-it-is"), default="cublas")
    gemm, sys.argv[1:] = own.parse_known_args()
    asked = program.options(__doc__)
    if asked.device == "cuda" and gemm.gemm == "cublas":
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_triton_gemm=false"
    if asked.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as numpy
    jax.config.update("jax_default_matmul_precision", "highest")
    if jax.default_backend() != ("gpu" if asked.device == "cuda" else "cpu"):
        sys.exit(f"JAX has no {asked.device} here, only {jax.default_backend()}")
    dtype = {"fp32": numpy.float32, "bf16": numpy.bfloat16}[asked.dtype]
    width, heads, batch, length, outputs = (64, 4, 2, 16, 8) if asked.tiny else (1024, 16, 8, 512, 256)
    weights = parameters(jax, numpy, width, outputs, dtype)
    x = jax.random.normal(jax.random.PRNGKey(2), (batch, length, width)).astype(dtype)
    y = jax.random.normal(jax.random.PRNGKey(3), (batch, length, outputs))
    gradient = jax.value_and_grad(loss_of(jax, numpy, heads))

    @jax.jit
    def update(weights):
        loss, slopes = gradient(weights, x, y)
        return loss, jax.tree.map(lambda weight, slope: weight - (0.1 * slope).astype(weight.dtype), weights, slopes)

    def step():
        nonlocal weights
        loss, weights = update(weights)
        return loss

    losses, ms = program.times_of(step, lambda: jax.block_until_ready(weights), asked.steps)
    program.tell("jax_step", asked, f"JAX {jax.__version__}", jax.devices()[0].device_kind, {"step": ms}, losses,
                 f"XLA_FLAGS{os.environ.get('XLA_FLAGS', ' not set')}")


if __name__ == "__main__":
    main()
