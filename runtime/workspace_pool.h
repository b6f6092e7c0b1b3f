// SPDX-License-Identifier: Apache-2.0
// The scratch memory of an application's launches: one workspace for each device and stream, and
// one of its own, or one that is given, for each launch that is captured into a graph.
//
// Launches in one stream follow one another and may share; those of different streams may overlap.
// A workspace grows with what is asked and is kept until the pool ends. Any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/launch/launch_recipe.h"
#include "gpu/launch/stream.h"
#include "runtime/workspace.h"

namespace gemm_tune {

class WorkspacePool {
 public:
  // Calls enqueue(void* workspace), which may put launches that need up to `bytes` into the stream;
  // the workspace begins with counters, and is null for 0 bytes. ordinal: of the current device.
  // Nobody else enqueues launches of this stream that use a workspace meanwhile. given: for a
  // captured launch. Throws NoKernelError where it is too small, CudaError where memory does not
  // suffice, and what enqueue() throws.
  template <class Enqueue>
  void lend(std::int64_t bytes, const GivenWorkspace& given, int ordinal, cudaStream_t stream,
            const Enqueue& enqueue) {
    if (bytes == 0) return enqueue(nullptr);
    if (is_capturing(stream)) {
      const CapturedWorkspace captured(bytes, CapturedWorkspace::Counters::zero, stream, given);
      return enqueue(captured.data());
    }
    StreamWorkspaces& own = of(ordinal, stream);
    const std::lock_guard enqueuing(own.mutex);
    own.grow_to(bytes, stream);
    enqueue(own.grown.back().data());
  }

  // The same with memory alone: calls enqueue(void* memory).
  template <class Enqueue>
  void lend_scratch(std::int64_t bytes, const GivenWorkspace& given, int ordinal,
                    cudaStream_t stream, const Enqueue& enqueue) {
    if (bytes > 0 && is_capturing(stream)) {
      const CapturedWorkspace captured(bytes, CapturedWorkspace::Counters::none, stream, given);
      return enqueue(captured.data());
    }
    lend(bytes > 0 ? kWorkspaceCounterBytes + bytes : 0, given, ordinal, stream,
         [&](void* memory) { enqueue(behind_counters(memory)); });
  }

 private:
  static void* behind_counters(void* workspace) {
    return workspace == nullptr ? nullptr : static_cast<char*>(workspace) + kWorkspaceCounterBytes;
  }

  // Launches use the last workspace, and only that. One that is under way may still use an
  // earlier, smaller one.
  struct StreamWorkspaces {
    std::mutex mutex;  // held while a launch is enqueued
    std::vector<Workspace> grown;

    void grow_to(std::int64_t bytes, cudaStream_t stream);
  };

  StreamWorkspaces& of(int ordinal, cudaStream_t stream);

  std::mutex mutex_;
  // By ordinal and the stream's id, which unlike its handle is never used again. Guarded by mutex_;
  // entries stay where they are.
  std::map<std::pair<int, unsigned long long>, StreamWorkspaces> workspaces_;
};

}  // namespace gemm_tune
