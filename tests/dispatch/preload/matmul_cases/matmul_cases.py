#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The products of PyTorch's, CuPy's and JAX's own tests, written anew, on a GPU: with the drop-in no result is worse.

usage: matmul_cases.py GEMM_TUNE MAKE_WINNERS [LIBRARY...]    libraries: torch cupy jax (all that are installed)
       matmul_cases.py --work LIBRARY [cpu]                   the cases alone: a line of JSON for each

GEMM_TUNE: the program, with the drop-in beside it. MAKE_WINNERS: make_winners_for_all, by whose winners the drop-in serves
whatever it can. Each library's cases run as they are and by `gemm-tune run --audit`. A case's result is compared with fp64 by
the error bound of its type. A case has failed where its result with the drop-in is beyond the bound and twice as far off as
without, or where it raises what it did not. Prints the counts, the failures, and what the drop-in served and left.
Exit code: 0; 1 where a case has failed, nothing was served, or the drop-in reports an error; 77 where no library finds a GPU.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIBRARIES = ("torch", "cupy", "jax")
HAS_GPU = {"torch": "import torch; assert torch.cuda.is_available()", "cupy": "import cupy; assert cupy.cuda.is_available()",
           "jax": "import jax; assert jax.default_backend() == 'gpu'"}


def work(library, device):
    if library == "torch":
        import torch_cases
        return torch_cases.run(device)
    import numpy_cases
    return {"cupy": numpy_cases.run_cupy, "jax": numpy_cases.run_jax}[library]()


def cases_of(library, *prefix, **environment):
    """Case -> its line. Names that repeat are numbered."""
    # XLA's Triton kernels are none of cuBLAS's.
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_triton_gemm=false"
    done = subprocess.run([*prefix, sys.executable, __file__, "--work", library], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "XLA_FLAGS": flags, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment})
    cases = {}
    for text in done.stdout.splitlines():
        if text.startswith("{"):
            line = json.loads(text)
            name = line["case"]
            while name in cases:
                name += "'"
            cases[name] = line
    if done.returncode != 0:
        cases["the program itself"] = {"raised": f"exit code {done.returncode}", "text": ""}
    return cases


def text_of(line):
    return f"{line['share']:.3g} of the bound" if "share" in line else f"{line['raised']} {line['text']}".strip()


def failures(stock, served):
    """Sentences about the cases that are worse than without the drop-in."""
    found = []
    for name in stock.keys() | served.keys():
        before, after = (cases.get(name, {"raised": "not run", "text": ""}) for cases in (stock, served))
        if "share" in before and "share" in after:
            is_worse = after["share"] > max(1, 2 * before["share"])
        else:
            is_worse = before.get("raised") != after.get("raised")
        if is_worse:
            found.append(f"{name}: {text_of(after)}; without the drop-in {text_of(before)}")
    return sorted(found)


def print_report(report):
    """Returns the calls that were served, and sentences about errors."""
    lines = [json.loads(text) for text in report.read_text().splitlines()] if report.exists() else []
    served, declined = sum(line.get("served", 0) for line in lines), {}
    for line in lines:
        for reason, count in line.get("declined", {}).items():
            declined[reason] = declined.get(reason, 0) + count
    print(f"  served {served} of {served + sum(declined.values())} calls")
    for reason, count in sorted(declined.items(), key=lambda one: -one[1]):
        print(f"  left to cuBLAS {count}: {reason}")
    return served, [f"{line['program']}: {line['error']}" for line in lines if "error" in line]


def check(library, gemm_tune, winners, folder):
    """Whether all is well."""
    report = folder / f"{library}.jsonl"
    stock = cases_of(library)
    served = cases_of(library, gemm_tune, "run", "-q", "--audit", "--db", winners, "--report", report, "--",
                      GEMM_TUNE_BLAS_DISTANCE="1e12", XDG_CACHE_HOME=str(folder))
    beyond = [f"{name}: {text_of(line)}" for name, line in stock.items() if line.get("share", 0) > 1]
    raised = sum("raised" in line for line in stock.values())
    failed = failures(stock, served)
    print(f"{library}: {len(served)} cases, {len(failed)} failed; without the drop-in {len(beyond)} beyond the bound, "
          f"{raised} not supported")
    for sentence in beyond:
        print(f"  beyond the bound without the drop-in: {sentence}")
    count, errors = print_report(report)
    for sentence in failed + errors:
        print(f"  FAILED {sentence}")
    sys.stdout.flush()
    return not failed and not errors and count > 0


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "cuda")
    gemm_tune, make_winners, *asked = sys.argv[1:]
    here = [library for library in asked or LIBRARIES
            if subprocess.run([sys.executable, "-c", HAS_GPU[library]], capture_output=True).returncode == 0]
    if not here:
        print("none of the libraries finds a GPU: " + ", ".join(asked or LIBRARIES))
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([make_winners, folder / "winners.db"], check=True)
        good = [check(library, gemm_tune, folder / "winners.db", folder) for library in here]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
