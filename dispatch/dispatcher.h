// SPDX-License-Identifier: Apache-2.0
// What a gt_handle is: the winners of a database, and the kernels loaded so far.
//
// Everything of the database is read at construction, so that a look-up touches no disk and needs
// no lock. sgemm() remembers which kernel serves a problem; a remembered problem costs a shared
// lock and a launch. A thread waits only for a compilation of the kernel that it needs. Kernels
// that need a workspace get the one of their device and stream; in a capture, one that belongs to
// the graph. Any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/choose.h"
#include "core/error.h"
#include "dispatch/sgemm_call.h"
#include "gpu/kernel.h"
#include "runtime/cubin_cache.h"
#include "runtime/once_per_key.h"
#include "runtime/workspace.h"

namespace gemm_tune {

// No kernel can serve a problem.
class NoKernelError : public Error {
 public:
  using Error::Error;
};

class Dispatcher {
 public:
  // Throws DatabaseError for the database, UsageError for the cache directory.
  Dispatcher(const std::filesystem::path& database,
             const std::optional<std::filesystem::path>& kernel_cache);

  // Pure: needs no GPU.
  Choice lookup(const DeviceKey& device, const Problem& problem) const;

  // Launches the call on the current device; it must have been checked and be row-major. Throws
  // NoKernelError and DeviceError.
  void sgemm(const GemmCall& call, cudaStream_t stream);

 private:
  struct Plan {
    const LoadedKernel* kernel = nullptr;  // owned by kernels_
    LaunchRecipe recipe;
    int sm_count = 0;
  };
  struct PlanKey {
    int ordinal;
    Problem problem;
    COperand c;
    friend auto operator<=>(const PlanKey&, const PlanKey&) = default;
  };
  // The workspaces of one device and stream: launches use the last, and only that. One that is
  // under way may still use an earlier, smaller one.
  struct StreamWorkspaces {
    std::mutex mutex;  // held while a launch is enqueued
    std::vector<Workspace> grown;
  };

  // At most kMaxBatch entries.
  void launch(GemmCall call, cudaStream_t stream);
  void launch(const Plan& plan, const GemmCall& call, int* counters, float* partials,
              cudaStream_t stream) const;
  StreamWorkspaces& workspaces(int ordinal, cudaStream_t stream);

  Plan plan(const PlanKey& key);
  std::optional<Plan> remembered_plan(const PlanKey& key) const;
  Plan make_plan(const PlanKey& key);
  const LoadedKernel& kernel(int ordinal, const std::string& arch, const KnownConfig& config,
                             COperand c);

  std::map<std::string, std::vector<Winner>> winners_;  // by architecture; fixed once constructed
  std::optional<CubinCache> kernel_cache_;

  mutable std::shared_mutex plans_mutex_;
  std::map<PlanKey, Plan> plans_;  // guarded by plans_mutex_

  OncePerKey<int, DeviceKey> devices_;  // by ordinal
  // By ordinal, config text and place of C. Never shrinks: a kernel may still be running.
  OncePerKey<std::tuple<int, std::string, COperand>, LoadedKernel> kernels_;

  std::mutex workspaces_mutex_;
  // By ordinal and the stream's id, which unlike its handle is never used again. Guarded by
  // workspaces_mutex_; entries stay where they are.
  std::map<std::pair<int, unsigned long long>, StreamWorkspaces> workspaces_;
};

// The calling thread's current device as the database's key. Throws DeviceError without one.
DeviceKey current_device_key();

}  // namespace gemm_tune
