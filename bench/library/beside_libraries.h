// SPDX-License-Identifier: Apache-2.0
// A call that the library serves, timed in turn with cuBLAS's own choice and with the fastest of
// cublasLt's algorithms, by the tuner's rules: the GPU's time, operands in L2 where they fit. One
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "core/problem/gemm_call.h"
#include "core/types/float16.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tuner/measure/lt_algorithms.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {

inline std::vector<char> bytes_of_element(float value, ElementType type) {
  std::vector<char> bytes(static_cast<std::size_t>(bytes_of(type)));
  if (type == ElementType::f32) {
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  const std::uint16_t half = from_float(type == ElementType::f16 ? kF16 : kBf16, value);
  std::memcpy(bytes.data(), &half, sizeof half);
  return bytes;
}

// Copies of a block of random normal elements: a number for each would take longer than the calls.
inline DeviceBuffer<char> random_operand(std::int64_t elements, ElementType type, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<char> block;
  const std::int64_t own = std::min<std::int64_t>(elements, std::int64_t{1} << 20);
  for (std::int64_t i = 0; i < own; ++i) {
    const std::vector<char> bytes = bytes_of_element(normal(random), type);
    block.insert(block.end(), bytes.begin(), bytes.end());
  }
  DeviceBuffer<char> matrix(static_cast<std::size_t>(elements * bytes_of(type)));
  for (std::size_t at = 0; at < matrix.size(); at += block.size()) {
    matrix.copy_from_host(std::span(block).first(std::min(block.size(), matrix.size() - at)), at);
  }
  return matrix;
}

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
