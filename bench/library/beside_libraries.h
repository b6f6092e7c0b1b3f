// SPDX-License-Identifier: Apache-2.0
// A call that the library serves, timed in turn with cuBLAS's own choice and with the fastest of
// cublasLt's algorithms, by the tuner's rules: the GPU's time, operands in L2 where they fit. One
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "core/problem/gemm_call.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/launch/stream.h"
#include "tuner/measure/lt_algorithms.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {

struct TimesBesideLibraries {
  double served_us, cublas_us, lt_us;

  double better_us() const { return std::min(cublas_us, lt_us); }
};

// serve: enqueues the call as it is served. finalists: how many of cublasLt's algorithms are timed,
// the fastest of a few samples. cublas, timer and what `serve` does use the stream; lt_workspace:
// as CublasLt::Plan::run() needs it. lt_us is cuBLAS's time where cublasLt proposes nothing.
inline TimesBesideLibraries time_beside_libraries(const std::function<void()>& serve,
                                                  const GemmCall& call, Cublas& cublas,
                                                  const CublasLt& lt, std::size_t finalists,
                                                  LaunchTimer& timer, const Stream& stream,
                                                  void* lt_workspace) {
  const CublasLt::Plan plan = lt.plan(call);
  std::vector<std::size_t> order = fastest_first(plan, call, timer, stream, lt_workspace);
  order.resize(std::min(order.size(), finalists));
  std::vector<Launch> launches = {[&](int) { cublas.gemm(call); }, [&](int) { serve(); }};
  for (const std::size_t i : order) {
    launches.push_back([&, i](int) { run_algorithm(plan, i, call, stream, lt_workspace); });
  }
  for (const Launch& launch : launches) launch(0);  // outside of a capture: it may load code
  stream.synchronize();
  const std::vector<Timing> timings = timer.time_interleaved(launches, FinalsRule());
  TimesBesideLibraries times{timings[1].median_us, timings[0].median_us, timings[0].median_us};
  for (std::size_t i = 2; i < timings.size(); ++i) {
    times.lt_us = i == 2 ? timings[i].median_us : std::min(times.lt_us, timings[i].median_us);
  }
  return times;
}

}  // namespace gemm_tune
