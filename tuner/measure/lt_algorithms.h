// SPDX-License-Identifier: Apache-2.0
// The algorithms that cublasLt proposes for a call, timed.
//
// One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/launch/stream.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {

// Enqueues the call by algorithm i. Throws DeviceError where cublasLt refuses what it ran before.
// workspace: as CublasLt::Plan::run() needs it.
void run_algorithm(const CublasLt::Plan& plan, std::size_t i, const GemmCall& call,
                   const Stream& stream, void* workspace);

// The plan's algorithms that run, by a few samples of each; fewer of those that are beaten.
// stream: the timer's.
std::vector<std::size_t> fastest_first(const CublasLt::Plan& plan, const GemmCall& call,
                                       LaunchTimer& timer, const Stream& stream, void* workspace);

}  // namespace gemm_tune
