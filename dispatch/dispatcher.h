// SPDX-License-Identifier: Apache-2.0
// What a gt_handle is: the winners of a database, and the kernels loaded so far.
//
// Everything of the database is read at construction, so that a look-up touches no disk and needs
// no lock. gemm() remembers which kernel serves a problem; a remembered problem costs a shared
// lock and a launch. A thread waits only for a compilation of the kernel that it needs. Any number
// of threads.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <vector>

#include "choose/choose.h"
#include "core/error.h"
#include "dispatch/checked_call.h"
#include "runtime/kernel_store.h"
#include "runtime/once_per_key.h"
#include "runtime/prepared_call.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

// No kernel can serve a problem.
class NoKernelError : public Error {
 public:
  using Error::Error;
};

// What becomes of a cache directory that cannot serve: it is an error, or left out.
enum class CacheNeed { required, optional };

class Dispatcher {
 public:
  // Throws DatabaseError for the database, then UsageError for a required cache directory.
  Dispatcher(const std::filesystem::path& database,
             const std::optional<std::filesystem::path>& kernel_cache,
             CacheNeed need = CacheNeed::required);

  // Pure: needs no GPU.
  Choice lookup(const DeviceKey& device, const Problem& problem) const;

  // Launches the call on the current device; it must have been checked and be row-major. Throws
  // NoKernelError and DeviceError.
  void gemm(const GemmCall& call, cudaStream_t stream);

 private:
  struct Key {
    int ordinal;
    Problem problem;
    CallForm form;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // At most kMaxBatch entries.
  void launch(GemmCall call, cudaStream_t stream);

  PreparedCall prepared(const Key& key);
  std::optional<PreparedCall> remembered(const Key& key) const;
  PreparedCall prepare(const Key& key);
  const LoadedKernels& kernels(int ordinal, const std::string& arch, const KnownConfig& config,
                               const CallForm& form);

  std::map<std::string, std::vector<Winner>> winners_;  // by architecture; fixed once constructed
  std::optional<KernelStore> kernel_cache_;

  mutable std::shared_mutex prepared_mutex_;
  std::map<Key, PreparedCall> prepared_;  // of kernels_; guarded by prepared_mutex_

  OncePerKey<int, DeviceKey> devices_;  // by ordinal
  // By ordinal, config text and form of the call. Never shrinks: a kernel may still be running.
  OncePerKey<std::tuple<int, std::string, CallForm>, LoadedKernels> kernels_;
  WorkspacePool workspaces_;
};

// The calling thread's current device as the database's key. Throws DeviceError without one.
DeviceKey current_device_key();

}  // namespace gemm_tune
