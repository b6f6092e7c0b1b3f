// SPDX-License-Identifier: Apache-2.0
// The share of a GPU's time that a run may take, where others use the GPU, too.
//
// A task's whole time in its worker counts as the GPU's, so that a run takes less than its share,
// never more. A value; any thread.
#pragma once

#include <functional>

#include "tuner/process/running_clock.h"

namespace gemm_tune {

struct GpuShare {
  double share = 1;  // above 0; 1: all of it
  std::function<RunningClock::time_point()> now = RunningClock::now;

  bool is_whole() const { return share >= 1; }

  // How long the GPU is left alone after so much work.
  RunningClock::duration rest_after(RunningClock::duration work) const {
    if (is_whole()) return {};
    const std::chrono::duration<double, RunningClock::period> rest(
        static_cast<double>(work.count()) * (1 / share - 1));
    return std::chrono::duration_cast<RunningClock::duration>(rest);
  }
};

}  // namespace gemm_tune
