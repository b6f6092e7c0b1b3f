# SPDX-License-Identifier: Apache-2.0
"""How far a result may lie from its exact value. Arrays are numpy's, of fp64 or of complex fp64."""
import json

import numpy

# The unit roundoff of the types of results, and of the type that their sums are computed in.
ROUNDOFF = {"float64": 2.0**-53, "complex128": 2.0**-53, "float32": 2.0**-24, "complex64": 2.0**-24, "float16": 2.0**-11,
            "bfloat16": 2.0**-8}
ROUNDOFF_OF_SUMS = {"float64": 2.0**-53, "complex128": 2.0**-53}
SMALLEST = {"float16": 2.0**-24}  # of numbers below the normal ones, each rounding is this at most


def share_of_bound(result, exact, size, dtype, K, factor=1.0):
    """The largest difference over the error bound of sums of K products in any order and one rounding of the result.

    size: the same sums of absolute values. factor: for what follows the sums. Where the exact value is no number or
    infinite, the result has to be the same. Raises ValueError where the shapes differ.
    """
    if result.shape != exact.shape:
        raise ValueError(f"the shape is {result.shape} and should be {exact.shape}")
    if exact.size == 0:
        return 0.0
    with numpy.errstate(invalid="ignore"):
        finite = numpy.isfinite(exact)
        same = numpy.where(numpy.isnan(exact), numpy.isnan(result), result == exact)
        if not same[~finite].all():
            return float("inf")
        terms = (K + 8) * (4 if "complex" in dtype else 1)
        bound = factor * (terms * ROUNDOFF_OF_SUMS.get(dtype, 2.0**-24) * size + 2 * ROUNDOFF[dtype] * numpy.abs(exact))
        share = numpy.abs(result - exact)[finite] / (bound[finite] + SMALLEST.get(dtype, 1e-36))
    share = float(share.max()) if share.size else 0.0
    return share if share == share else float("inf")


def tell(name, do):
    """Prints a line of JSON: the case and do()'s share of the bound, or what it raised."""
    try:
        line = {"case": name, "share": do()}
    except Exception as error:  # of other people's libraries: any
        line = {"case": name, "raised": type(error).__name__, "text": " ".join(str(error).split())[:200]}
    print(json.dumps(line), flush=True)
