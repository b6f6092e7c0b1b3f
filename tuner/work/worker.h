// SPDX-License-Identifier: Apache-2.0
// The child's side: answers requests until the pipe closes. `gemm-tune worker ...`, not for people.
#pragma once

#include <span>

#include "tuner/work/worker_process.h"

namespace gemm_tune {

inline constexpr const char* kWorkerArgument = "worker";  // the program's first argument
inline constexpr int kWorkerFd = 3;                       // where a worker finds its pipe

// program, in all three: a program and its first arguments that lead to run_worker(), as in
// {"/usr/bin/gemm-tune", kWorkerArgument}. Users' families may follow, each a file and its hash
// (kernel_templates/registry/user_families.h). What the worker is to do is put behind them.

// A worker that compiles, with bounded memory: a compiler gone astray must not take the machine
// with it.
WorkerCommand compile_worker(WorkerCommand program);
// One that measures on the GPU of that number; it is open when the worker greets.
WorkerCommand measuring_worker(WorkerCommand program, int ordinal);
// One that tells what GPUs there are.
WorkerCommand probing_worker(WorkerCommand program);

// Serves compile, device, measure and finals requests (tuner/work/protocol.h) on kWorkerFd.
// arguments: what follows kWorkerArgument. Returns the process's exit code.
int run_worker(std::span<char* const> arguments);

}  // namespace gemm_tune
