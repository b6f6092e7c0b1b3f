// SPDX-License-Identifier: Apache-2.0
// Global scratch memory for launches that follow one another in a stream: counters, then partial
// sums (core/launch/launch_recipe.h).
//
// A Workspace zeroes the counters when it is made; the launches leave them so. Launches that may
// overlap need one each, which is why a launch that is captured into a graph has a
// CapturedWorkspace: nobody knows when a graph runs, nor beside which work. Belongs to the device
// that was current when it was made. Use one object from one thread at a time.
#pragma once

#include <cstdint>

#include "gpu/launch/memory.h"

namespace gemm_tune {

class Workspace {
 public:
  // Serves launches that need none.
  Workspace() = default;

  // For launches that need up to `bytes`, as workspace_bytes() gives them, in this stream. Throws
  // CudaError where memory does not suffice.
  Workspace(std::int64_t bytes, cudaStream_t stream);

  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.size()); }

  // Null in a workspace without memory.
  void* data() const { return memory_.data(); }

  // Makes all but the counters, of a launch that needs so many bytes, NaN, in the stream: a sum
  // that is read and was not written then shows.
  void poison(std::int64_t bytes, cudaStream_t stream) const;

  // Whether all counters are zero. Waits for the device.
  bool is_clean() const;

 private:
  DeviceBuffer<char> memory_;
};

// Memory that the owner of a captured call gives to the graph.
struct GivenWorkspace {
  void* data = nullptr;
  std::int64_t bytes = -1;  // negative: none is given

  bool is_given() const { return bytes >= 0; }
};

// Memory of a launch that is captured into a graph: what its owner gives, or else what the graph
// itself allocates before the work that is captured during this object's life, and frees after it:
// nodes of the graph, which every capture mode allows. Each run of the graph then has its own
// memory; CUDA refuses a second executable instance of a graph with such nodes, which would share
// it, and takes no such graph as the child of another.
class CapturedWorkspace {
 public:
  // Zeroed counters cost each run of the graph a memset, about a microsecond.
  enum class Counters { zero, none };

  // stream: being captured. Throws NoKernelError where what is given is smaller than `bytes`,
  // CudaError where the graph cannot have such nodes.
  CapturedWorkspace(std::int64_t bytes, Counters counters, cudaStream_t stream,
                    const GivenWorkspace& given = {});
  ~CapturedWorkspace();
  CapturedWorkspace(const CapturedWorkspace&) = delete;
  CapturedWorkspace& operator=(const CapturedWorkspace&) = delete;

  void* data() const { return memory_; }

 private:
  void free_own() const;

  void* memory_;
  bool is_given_;
  cudaStream_t stream_;
};

}  // namespace gemm_tune
