// Global scratch memory for launches that follow one another in a stream: counters, then partial
// sums (core/launch_recipe.h).
//
// Zeroes the counters when it is made; the launches leave them so. Launches that may overlap need
// one each. Belongs to the device that was current when it was made. Use one object from one thread
// at a time.
#pragma once

#include <cstdint>

#include "gpu/memory.h"

namespace gemm_tune {

class Workspace {
 public:
  // Serves launches that need none.
  Workspace() = default;

  // For launches that need up to `bytes`, as workspace_bytes() gives them, in this stream. Throws
  // CudaError where memory does not suffice.
  Workspace(std::int64_t bytes, cudaStream_t stream);

  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.size()); }

  // Of GemmArgs; null in a workspace without memory.
  int* counters() const;
  float* partials() const;

  // Makes the partial sums of a launch that needs so many bytes NaN, in the stream: one that is
  // read and was not written then shows.
  void poison_partials(std::int64_t bytes, cudaStream_t stream) const;

  // Whether all counters are zero. Waits for the device.
  bool is_clean() const;

 private:
  DeviceBuffer<char> memory_;
};

}  // namespace gemm_tune
