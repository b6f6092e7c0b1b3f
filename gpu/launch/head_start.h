// SPDX-License-Identifier: Apache-2.0
// Work that keeps the GPU busy while the host enqueues what is to be timed behind it, so that a
// timing holds the GPU's time alone. (cublasSgemm takes longer to issue than a small product takes
// to run.) It touches next to nothing of the GPU's caches.
//
// Belongs to the device that was current when it was made. Use one object from one thread.
#pragma once

#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"

namespace gemm_tune {

class HeadStart {
 public:
  // Throws CudaError.
  HeadStart();

  // Enqueues it, as one launch.
  void launch(cudaStream_t stream) const { work_.launch(stream); }

  // Twice as long from now on; whether it was not the longest already.
  bool lengthen();

 private:
  LaunchGraph capture();

  Stream capturing_;
  DeviceBuffer<char> scratch_;
  int memsets_;
  LaunchGraph work_;
};

}  // namespace gemm_tune
