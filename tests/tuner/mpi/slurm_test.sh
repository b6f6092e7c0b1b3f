#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm_test.sh PROGRAM_FOLDER SOURCE_FOLDER: the jobs of examples/slurm under a Slurm of its own on this machine, whose GPU
# is /dev/null: the searches are for sm_86 and predicted. Exit code 77 where Slurm's daemons or root are missing.
set -euo pipefail
bin=$(cd "$1" && pwd) source=$(cd "$2" && pwd)
for program in slurmctld slurmd munged sbatch mpirun; do
  command -v "$program" >/dev/null || { echo "$program is missing: install slurmctld slurmd slurm-client munge"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "Slurm's daemons are started by root alone"; exit 77; }
work=$(mktemp -d /tmp/gemm-tune-slurm.XXXXXX)
chmod 755 "$work"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    timeout 60 tail --pid="$pid" -f /dev/null
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap cleanup EXIT
export MUNGE_SOCKET=$work/munge/socket
mkdir "$work"/{munge,ctld,spool,results}
dd if=/dev/urandom of="$work/munge/key" bs=64 count=1 status=none
chmod 700 "$work/munge"
chmod 400 "$work/munge/key"
munged --force --foreground --socket="$MUNGE_SOCKET" --key-file="$work/munge/key" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed" >"$work/munged.out" 2>&1 &
pids+=($!)
host=$(hostname -s)
port=$((20000 + RANDOM % 20000))
cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$work/ctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmdSpoolDir=$work/spool
StateSaveLocation=$work/ctld
SlurmctldLogFile=$work/ctld.log
SlurmdLogFile=$work/slurmd.log
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo "NodeName=$host Name=gpu File=/dev/null" >"$work/gres.conf"
export SLURM_CONF=$work/slurm.conf
slurmctld -D >"$work/ctld.out" 2>&1 &
pids+=($!)
slurmd -D >"$work/slurmd.out" 2>&1 &
pids+=($!)
for _ in $(seq 1200); do
  if sinfo -h -o %t 2>/dev/null | grep -q idle; then break; fi
  sleep 0.5
done
sinfo -h -o %t | grep -q idle || { tail -n 20 "$work"/*.out "$work"/*.log; echo "this Slurm does not come up here"; exit 77; }

printf '64\n128x64x96\n# a comment\n96\n' >"$work/sizes.txt"
export GEMM_TUNE=$bin/gemm-tune GEMM_TUNE_MPI=$bin/gemm-tune-mpi GEMM_TUNE_OPTIONS="--arch sm_86 --budget 2 --seed 1 -q"
export XDG_CACHE_HOME=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export MPIRUN_OPTIONS="--bind-to none --oversubscribe -n 2 --mca btl self,vader"
cd "$work"
problems_of() { sqlite3 "$1" 'SELECT problem FROM winners ORDER BY 1' | paste -sd' ' -; }

sbatch --wait --cpus-per-task=1 --array=0-1%1 "$source/examples/slurm/array.sbatch" "$work/sizes.txt" "$work/results" ||
  { cat ./*.out; exit 1; }
"$bin/gemm-tune" db merge "$work/merged.db" "$work"/results/task-*.db
echo "array of $(find "$work/results" -name 'task-*.db' | wc -l) tasks, merged: $(problems_of "$work/merged.db")"
sbatch --wait --cpus-per-task=1 "$source/examples/slurm/mpi.sbatch" "$work/sizes.txt" "$work/results/mpi.db" ||
  { cat ./*.out; exit 1; }
echo "MPI job of two ranks: $(problems_of "$work/results/mpi.db")"
expected="128x64x96 64x64x64 96x96x96"
[ "$(problems_of "$work/merged.db")" = "$expected" ]
[ "$(problems_of "$work/results/mpi.db")" = "$expected" ]
