#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# two_gpus.sh PROGRAM_FOLDER OUT [BUDGET [PROBLEMS]]: what a job of several machines gains and costs, on one machine with two GPUs.
#
# Tunes PROBLEMS problems (40) four ways, each into a database of its own: gemm-tune on one GPU, gemm-tune-mpi with one agent of one
# GPU, with two agents of one GPU each, and gemm-tune --devices 0,1. On a machine with one GPU, only the first two.
# OUT gets the databases, times.txt (seconds of wall time) and winners.txt: of each problem whether the winners agree, or
# each lies in the tie set of the other. Needs mpirun of Open MPI 4 or 5 (libmpi.so.40), nothing of its headers.
set -euo pipefail
bin=$(cd "$1" && pwd)
out=$2
budget=${3:-32}
mkdir -p "$out"
out=$(cd "$out" && pwd)
sizes=$(printf '%s\n' 256 384 512 640 768 896 1000 1024 1280 1536 1792 2000 2048 2560 3072 3584 4096 \
  {64,128,256}x{1024,4096}x1024 1024x{64,128,256}x4096 4096x512x1024 512x4096x1024 128x4096x4096 16x4096x4096 4096x4096x128 \
  256x256x8192 1023x1025x1021 333x777x2222 2048x2048x512 2048x512x2048 512x2048x2048 1536x768x3072 768x3072x1536 \
  1000x2000x500 | head -"${4:-40}" | paste -sd, -)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
gpus=$(nvidia-smi -L | wc -l)
options=(--sizes "$sizes" --budget "$budget" --seed 1 --no-kernel-cache -q)

# timed NAME COMMAND...: its wall time, in times.txt.
timed() {
  local name=$1 start end
  shift
  start=$(date +%s.%N)
  "$@" >"$out/$name.txt" 2>"$out/$name.err" || echo "$name: exit code $?"
  end=$(date +%s.%N)
  python3 -c "print('$name', round($end - $start, 2))" | tee -a "$out/times.txt"
}

rm -f "$out"/*.db "$out/times.txt"
# Compile processes: as many for each GPU, whichever way it is used.
jobs=$(($(nproc) / (gpus < 2 ? 1 : 2) - 1))
# An agent with the GPU of its local rank.
cat >"$out/rank.sh" <<'END'
#!/bin/sh
export CUDA_VISIBLE_DEVICES=${OMPI_COMM_WORLD_LOCAL_RANK:-0}
exec "$@"
END
chmod +x "$out/rank.sh"
mpi=(mpirun --bind-to none --mca btl "self,vader,tcp")
mpirun --version | head -1 | grep -q ' 5\.' && mpi=(mpirun --bind-to none)
CUDA_VISIBLE_DEVICES=0 timed one_process "$bin/gemm-tune" "${options[@]}" --jobs "$jobs" --db "$out/one_process.db"
timed one_agent "${mpi[@]}" -n 1 "$out/rank.sh" "$bin/gemm-tune-mpi" "${options[@]}" --jobs "$jobs" --db "$out/one_agent.db"
if [ "$gpus" -ge 2 ]; then
  timed two_agents "${mpi[@]}" -n 2 "$out/rank.sh" "$bin/gemm-tune-mpi" "${options[@]}" --jobs "$jobs" --db "$out/two_agents.db"
  timed one_process_two_gpus "$bin/gemm-tune" "${options[@]}" --jobs $((2 * jobs)) --devices 0,1 --db "$out/one_process_two_gpus.db"
fi

python3 - "$out" <<'END'
import os, sqlite3, sys

out = sys.argv[1]
names = [n for n in ("one_process", "one_agent", "two_agents", "one_process_two_gpus") if os.path.exists(f"{out}/{n}.db")]


def of(name):
    db = sqlite3.connect(f"{out}/{name}.db")
    db.row_factory = sqlite3.Row
    winners = {(row["M"], row["N"], row["K"]): (row["config"], row["median_us"]) for row in db.execute("SELECT * FROM winners")}
    tied = {}
    query = """SELECT p.M, p.N, p.K, c.config FROM measurements m JOIN problems p ON p.id = m.problem_id
               JOIN candidates c ON c.id = m.candidate_id WHERE m.tied = 1 AND m.counts = 1"""
    for row in db.execute(query):
        tied.setdefault((row["M"], row["N"], row["K"]), set()).add(row["config"])
    return winners, tied


base, base_tied = of(names[0])
with open(f"{out}/winners.txt", "w") as report:
    for name in names[1:]:
        winners, tied = of(name)
        equal = within = 0
        ratios = []
        for key, (config, us) in winners.items():
            if key not in base:
                continue
            other, other_us = base[key]
            equal += config == other
            near = config == other or config in base_tied.get(key, ()) or other in tied.get(key, ())
            within += near
            ratios.append(us / other_us)
            if not near:
                report.write(f"{name} {key}: {config} {us:.4g} us, {names[0]}: {other} {other_us:.4g} us\n")
        geometric = 1.0
        for ratio in ratios:
            geometric *= ratio ** (1 / len(ratios))
        line = f"{name}: {len(winners)} problems, {equal} winners equal, {within} equal or tied, times {geometric:.4f} of {names[0]}'s"
        report.write(line + "\n")
        print(line)
END
