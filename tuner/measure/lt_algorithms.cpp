// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/lt_algorithms.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace gemm_tune {

void run_algorithm(const CublasLt::Plan& plan, std::size_t i, const GemmCall& call,
                   const Stream& stream, void* workspace) {
  if (plan.run(i, call, stream.get(), workspace)) return;
  throw DeviceError("cublasLt refuses what it ran before");
}

std::vector<std::size_t> fastest_first(const CublasLt::Plan& plan, const GemmCall& call,
                                       LaunchTimer& timer, const Stream& stream, void* workspace) {
  SampleRule rule;
  rule.min_samples = rule.max_samples = 3;
  std::vector<std::pair<double, std::size_t>> timed;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    // Once outside of any capture: the first call may load code.
    if (!plan.run(i, call, stream.get(), workspace)) continue;
    stream.synchronize();
    const auto launch = [&](int) { run_algorithm(plan, i, call, stream, workspace); };
    const double time_us = timer.time(launch, rule).median_us;
    timed.emplace_back(time_us, i);
    rule.best_us = std::min(rule.best_us.value_or(time_us), time_us);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<std::size_t> order;
  for (const auto& [time_us, i] : timed) order.push_back(i);
  return order;
}

}  // namespace gemm_tune
