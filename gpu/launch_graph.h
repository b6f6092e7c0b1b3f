// SPDX-License-Identifier: Apache-2.0
// A sequence of launches recorded once and replayed as one: what the host spends on each launch is
// then no part of the time.
//
// Belongs to the device that was current when it was captured. Use one object from one thread.
#pragma once

#include <functional>

#include "gpu/stream.h"

namespace gemm_tune {

class LaunchGraph {
 public:
  // Records what `enqueue` puts into the stream, which must be idle; nothing runs. Throws CudaError
  // where something is enqueued that cannot be captured.
  LaunchGraph(const Stream& stream, const std::function<void()>& enqueue);
  ~LaunchGraph();
  LaunchGraph(LaunchGraph&& other) noexcept;
  LaunchGraph& operator=(LaunchGraph&& other) noexcept;

  // Enqueues the whole sequence.
  void launch(const Stream& stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gemm_tune
