// SPDX-License-Identifier: Apache-2.0
// The running program as the worker of tuner/work/worker.h: its main() must hand kWorkerArgument's
// command lines to run_worker().
#pragma once

#include "tuner/work/worker.h"

namespace gemm_tune {

// The very file that runs, also where another has taken its place since.
inline WorkerCommand own_worker() { return {"/proc/self/exe", kWorkerArgument}; }

}  // namespace gemm_tune
