// SPDX-License-Identifier: Apache-2.0
// Which device a command is about, and whether it can be measured here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/device_spec.h"
#include "db/database.h"
#include "db/validity.h"
#include "tuner/app/options.h"

namespace gemm_tune {

struct Target {
  DeviceSpec spec;
  bool measurable = false;        // the GPUs of --device or --devices are the target
  std::vector<int> ordinals;      // of those, by CUDA's numbers, where measurable
  std::int64_t memory_bytes = 0;  // of each, where measurable
  std::string driver_version;     // where measurable
  std::string why_not;            // where not: a sentence
  GpuSettings gpu = {};           // of the first, where measurable
};

// Asks a worker about the GPUs; without --arch they are the target. Throws UsageError for an
// architecture that NVRTC or the device table does not know or that is missing altogether and for
// GPUs of different models, and DeviceError where --require-gpu or --devices cannot be met.
Target resolve_target(const Options& options);

// The architecture alone, which wakes no GPU where --arch names it. Throws as resolve_target()
// does.
std::string target_arch(const Options& options);

// The database at --db or its default place.
std::filesystem::path database_path(const Options& options);

// The kernels of --kernel-dir, or the program's own. Throws UsageError.
std::vector<KernelText> asked_kernels(const Options& options);

// How long the database of that path is waited for, and that stderr says so unless quiet.
LockWait lock_wait(const Options& options, const std::filesystem::path& path);

// The database of --db, for reading.
Database open_for_reading(const Options& options);

}  // namespace gemm_tune
