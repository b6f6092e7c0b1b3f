#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the sectors and bank conflicts of `gemm-tune explain` against Nsight Compute's counters. Needs a GPU and ncu.

usage: explain_against_ncu.py [--ncu PROGRAM] [--json FILE] PROGRAM [SIZE/CONFIG...]
       explain_against_ncu.py --launch FOLDER

PROGRAM is gemm-tune. For each config, explain compiles it for the GPU at hand and says what one launch would access; then
this script launches the same cubin once under ncu (--launch: by the CUDA driver alone, no Python package). Prints a line for
each counter: explain's figure, ncu's, and their ratio. Without configs: one of each family. Counters of the GPU may be
reserved for root: run it as root, or see https://developer.nvidia.com/ERR_NVGPUCTRPERM.

ncu's counters are those of the whole launch. The shared-memory conflicts that it counts include those with other traffic of
the L1's data stage, so that a kernel without any may show a few.

Exit code: 0; 1 if a config could not be explained, launched or profiled; 3 without ncu.
"""
import argparse
import csv
import ctypes
import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

# One of each family; the sizes are multiples of the tiles, so that every CTA does what the first one does.
CONFIGS = [
    ("1024x1024x1024", "naive/BM=32,BN=32,COALESCED=0,PRED=0"),
    ("1024x1024x1024", "smem_tiled/BM=32,BN=32,BK=32,UNROLL=1,PRED=0"),
    ("1024x1024x1024", "coarsened_1d/BM=64,BN=64,BK=8,TM=8,PRED=0"),
    ("1024x1024x1024", "tiled_2d/BM=128,BN=128,BK=8,TM=8,TN=8,PRED=0"),
    ("1024x1024x1024", "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0"),
    ("1024x1024x1024", "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0"),
    ("1024x1024x1024", "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,WARPS_K=1,STAGES=3,ASYNC=2,"
     "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0"),
    ("16x4096x1024", "skinny/CLUSTER=0,BS=16,TL=2,WARPS=4,LANES_K=1,UNROLL=8,VEC=2,SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,PRED=0"),
    ("1024x1024x1024:type=f16", "mma/AB=1,CD=1,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
     "SPLIT_K=1,TA=0,TB=0,PRED=0"),
]
# (kind and field of explain's totals, ncu's metrics, whose values are added up)
COUNTERS = [
    (("global_loads", "requests"), ["l1tex__t_requests_pipe_lsu_mem_global_op_ld"]),
    (("global_loads", "sectors"), ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld"]),
    (("global_stores", "requests"), ["l1tex__t_requests_pipe_lsu_mem_global_op_st"]),
    (("global_stores", "sectors"), ["l1tex__t_sectors_pipe_lsu_mem_global_op_st"]),
    (("async_copies_global", "sectors"), ["l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access",
                                          "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass"]),
    (("shared_loads", "requests"), ["smsp__inst_executed_op_shared_ld"]),
    (("shared_loads", "wavefronts"), ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"]),
    (("shared_loads", "bank_conflicts"), ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld"]),
    (("shared_stores", "requests"), ["smsp__inst_executed_op_shared_st"]),
    (("shared_stores", "wavefronts"), ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"]),
    (("shared_stores", "bank_conflicts"), ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st"]),
]
# Every ncu has these; what else it has, it says itself.
ALWAYS = {name for _, names in COUNTERS for name in names if name.startswith("l1tex__") and "ldgsts" not in name}


def launch(folder):
    """Launches the cubin of the folder once, by the CUDA driver."""
    folder = pathlib.Path(folder)
    spec = json.loads((folder / "spec.json").read_text())
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code != 0:
            sys.exit(f"{name} failed with {code}")

    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoad", ctypes.byref(module), str(folder / "kernel.cubin").encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, b"gemm")
    max_dynamic_shared_memory = 8
    call("cuFuncSetAttribute", function, max_dynamic_shared_memory, ctypes.c_int(spec["smem_bytes"]))

    def zeros(size):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return address.value

    m, n, k = spec["m"], spec["n"], spec["k"]
    a, b, d = zeros(4 * m * k), zeros(4 * k * n), zeros(4 * m * n)
    counters = zeros(65536 + 4 * spec["grid"][0] * spec["grid"][1] * spec["tile_m"] * spec["tile_n"])
    # InPlaceGemmArgs (kernel_templates/device/call/gemm_args.cuh).
    argument = struct.pack("<4i2f3Q3q3q2Q", m, n, k, spec["piece_k"], 1.0, 0.0, a, b, d, spec["lda"], spec["ldb"], spec["ldc"],
                           0, 0, 0, counters, counters + 65536)
    buffer = ctypes.create_string_buffer(argument, len(argument))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    call("cuLaunchKernel", function, *spec["grid"], spec["threads"], 1, 1, spec["smem_bytes"], None, parameters, None)
    call("cuCtxSynchronize")


def explained(program, size, config, folder):
    """Writes the cubin and the launch to the folder; the totals of explain."""
    done = subprocess.run([program, "explain", "--json", "--sizes", size, config, "--cubin", str(folder / "kernel.cubin"),
                           "--db", str(folder / "none.db")], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip() or done.stdout.strip())
    said = json.loads(done.stdout)[0]
    m, n, k = (int(edge) for edge in size.split(":")[0].split("x"))
    spec = dict(said["launch"], m=m, n=n, k=k, tile_m=said["cta"]["tile_m"], tile_n=said["cta"]["tile_n"])
    spec.update(lda=m if "TA=1" in config else k, ldb=k if "TB=1" in config else n, ldc=n)
    (folder / "spec.json").write_text(json.dumps(spec))
    doubts = [figure["inconclusive"] for figure in said["figures"]
              if "inconclusive" in figure and figure["from"] != "measurement"]
    return said["launch"]["totals"], doubts


def counted(ncu, metrics, folder):
    """ncu's counters of one launch, by metric."""
    done = subprocess.run([ncu, "--csv", "--target-processes", "all", "--kernel-name", "gemm", "--launch-count", "1",
                           "--metrics", ",".join(name + ".sum" for name in sorted(metrics)), sys.executable,
                           str(pathlib.Path(__file__).resolve()), "--launch", str(folder)], capture_output=True, text=True)
    begin = done.stdout.find('"ID"')
    if done.returncode != 0 or begin < 0:
        raise ValueError("ncu: " + (done.stdout + done.stderr).strip()[-800:])
    return {row["Metric Name"].removesuffix(".sum"): float(row["Metric Value"].replace(",", ""))
            for row in csv.DictReader(io.StringIO(done.stdout[begin:])) if row["Metric Value"]}


def known_metrics(ncu):
    """Those that this ncu has for this GPU."""
    listed = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True)
    names = {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}
    wanted = {name for _, metrics in COUNTERS for name in metrics}
    return (names & wanted) | ALWAYS


def compared(totals, counts):
    """Rows (name, explain's figure, ncu's) of what both know."""
    for (kind, field), metrics in COUNTERS:
        found = [counts[name] for name in metrics if name in counts]
        if found:
            yield f"{kind} {field}", totals.get(kind, {}).get(field, 0), sum(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--json")
    parser.add_argument("--launch")
    parser.add_argument("program", nargs="?")
    parser.add_argument("configs", nargs="*", help="SIZE/CONFIG, as in 1024x1024x1024/naive/BM=32,...")
    asked = parser.parse_args()
    if asked.launch:
        return launch(asked.launch)
    if not asked.program:
        parser.error("name gemm-tune")
    ncu = shutil.which(asked.ncu)
    if not ncu:
        print(f"explain_against_ncu.py: there is no '{asked.ncu}': install Nsight Compute, or name it in --ncu", file=sys.stderr)
        return 3
    configs = [tuple(text.split("/", 1)) for text in asked.configs] or CONFIGS
    metrics, results, failed = known_metrics(ncu), [], 0
    for size, config in configs:
        print(f"{config} at {size}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                totals, doubts = explained(asked.program, size, config, pathlib.Path(folder))
                rows = list(compared(totals, counted(ncu, metrics, folder)))
            except (ValueError, OSError, KeyError) as error:
                print(f"  failed: {error}", flush=True)
                failed += 1
                continue
        for doubt in doubts:
            print(f"  explain is inconclusive: {doubt}")
        for name, ours, theirs in rows:
            ratio = f"{ours / theirs:.4f}" if theirs else ("1.0000" if ours == theirs else "-")
            print(f"  {name:<34}{ours:>16.0f}{theirs:>16.0f}  {ratio}", flush=True)
        results.append({"size": size, "config": config, "doubts": doubts,
                        "counters": [{"name": n, "explain": o, "ncu": t} for n, o, t in rows]})
    if asked.json:
        pathlib.Path(asked.json).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
