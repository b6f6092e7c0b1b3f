// SPDX-License-Identifier: Apache-2.0
// From the options to the device that a command is about.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/shared_options.h"
#include "tuner/plan/target.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {

// What stands in where the options name no target and there is no GPU.
struct StoredTarget {
  // The devices with stored results, of which there must be one. None: there is no stand-in.
  std::function<std::vector<DeviceKey>()> devices = {};
  bool any_of_one_arch = false;  // several devices of one architecture will do
};

// Asks a worker about the GPUs; without --arch and --gpu they are the target. Throws UsageError if
// the architecture is missing or unknown to the device table, or if the GPUs are of different
// models. Throws DeviceError if --require-gpu or --devices cannot be satisfied.
Target resolve_target(const TargetOptions& options, const StoredTarget& stored = {});

// A worker process that tells of this machine's GPUs. Use from one thread at a time.
class GpuProber {
 public:
  // Asks about the first GPU of the options, and leaves the driver to wake while the caller does
  // something else. Throws UsageError where --devices names none.
  explicit GpuProber(const TargetOptions& options);

  int first() const { return first_; }

  // Waits for what the worker tells of a GPU. Throws DeviceError where that cannot be used.
  DeviceReply ask(int ordinal);

 private:
  const int first_;
  WorkerPool pool_;
  std::optional<TaskResult> result_;  // of the first
};

// As resolve_target(), for a node of a job of many machines: all GPUs are the target where the
// options name none. Throws DeviceError where there is neither a GPU nor --arch.
Target node_target(const TargetOptions& options, GpuProber& prober);

// The target that --arch or --gpu names; nullopt where neither is given. Throws UsageError for one
// that is not known.
std::optional<DeviceSpec> named_target(const TargetOptions& options);

// Only the architecture; does not start a GPU if --arch or --gpu names it. Throws as
// resolve_target() does.
std::string target_arch(const TargetOptions& options, const StoredTarget& stored);

}  // namespace gemm_tune
