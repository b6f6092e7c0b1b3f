#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solvers in CuPy, fp32, order 4096: conjugate gradients for 32 right-hand sides at once, and a blocked QR of panels of 256.

Prints a line of JSON (program.py); its digest is of the solution and of R. The residuals are in its note: those of the
solution and of A = QR, over the right-hand sides and over A, in the Frobenius norm. --device cpu computes by numpy.
"""
import program


def conjugate_gradients(xp, a, b, most=200, goal=1e-5):
    """The solution of a x = b for each column of b, and the iterations to a residual of the goal in every column."""
    x, r = xp.zeros_like(b), b.copy()
    p, square = r.copy(), (r * r).sum(0)
    first = square.copy()
    for iteration in range(1, most + 1):
        ap = a @ p
        length = square / (p * ap).sum(0)
        x += length * p
        r -= length * ap
        before, square = square, (r * r).sum(0)
        if float((square / first).max()) < goal ** 2:
            break
        p = r + square / before * p
    return x, iteration


def blocked_qr(xp, a, panel):
    """Q and R by panels: each is factored, and taken out of the columns behind it, twice, so that Q stays orthogonal."""
    q, r = a.copy(), xp.zeros_like(a)
    for at in range(0, a.shape[1], panel):
        here, behind = slice(at, at + panel), slice(at + panel, None)
        if at > 0:  # again what the columns before have left by rounding
            again = q[:, :at].T @ q[:, here]
            q[:, here] -= q[:, :at] @ again
            r[:at, here] += again
        q[:, here], r[here, here] = xp.linalg.qr(q[:, here])
        r[here, behind] = q[:, here].T @ q[:, behind]
        q[:, behind] -= q[:, here] @ r[here, behind]
    return q, r


def main():
    asked = program.options(__doc__, dtypes=("fp32",))
    if asked.device == "cuda":
        import cupy as xp
        gpu, wait = xp.cuda.runtime.getDeviceProperties(0)["name"].decode(), xp.cuda.Device().synchronize
    else:
        import numpy as xp
        gpu, wait = "cpu", lambda: None
    import numpy
    order, sides, panel = (192, 4, 32) if asked.tiny else (4096, 32, 256)
    random = numpy.random.default_rng(1)
    square = xp.asarray(random.standard_normal((order, order), dtype=numpy.float32))
    positive = square @ square.T / order + xp.eye(order, dtype=xp.float32)
    b = xp.asarray(random.standard_normal((order, sides), dtype=numpy.float32))
    few = max(1, asked.steps // 4)
    solved, cg_ms = program.times_of(lambda: conjugate_gradients(xp, positive, b), wait, few)
    factored, qr_ms = program.times_of(lambda: blocked_qr(xp, square, panel), wait, few, warm=1)
    (x, iterations), (q, r) = solved[-1], factored[-1]

    def share(difference, whole):
        return float(xp.linalg.norm(difference) / xp.linalg.norm(whole))

    # Each part over its own largest number, so that both count.
    digest = [part / abs(part).max() for part in (x.ravel()[:: max(1, x.size // 32)], xp.abs(xp.diag(r))[:: max(1, order // 32)])]
    program.tell("cupy_solver", asked, f"{xp.__name__} {xp.__version__}", gpu,
                 {"conjugate gradients": cg_ms, "blocked QR": qr_ms}, xp.concatenate(digest).tolist(),
                 f"{iterations} iterations; residuals {share(b - positive @ x, b):.1e} and {share(square - q @ r, square):.1e}")


if __name__ == "__main__":
    main()
