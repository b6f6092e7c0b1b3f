// SPDX-License-Identifier: Apache-2.0
// A sequence of launches, recorded once as a CUDA graph and launched as a whole. The time that the
// host spends on each single launch is then not part of a measurement.
//
// Belongs to the device that was current when it was captured. Use one object from one thread.
#pragma once

#include <functional>

#include "gpu/launch/stream.h"

namespace gemm_tune {

class LaunchGraph {
 public:
  // Records the work that `enqueue` puts into the stream; nothing runs. The stream must be idle.
  // Throws CudaError if some of the work cannot be captured.
  LaunchGraph(const Stream& stream, const std::function<void()>& enqueue);
  ~LaunchGraph();
  LaunchGraph(LaunchGraph&& other) noexcept;
  LaunchGraph& operator=(LaunchGraph&& other) noexcept;

  // Enqueues the whole sequence.
  void launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gemm_tune
