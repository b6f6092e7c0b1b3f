// Which device a command is about, and whether it can be measured here.
#pragma once

#include <optional>
#include <string>

#include "core/device_spec.h"
#include "db/database.h"
#include "tuner/options.h"

namespace gemm_tune {

struct Target {
  DeviceSpec spec;
  bool measurable = false;     // the GPU of --device is the target
  std::string driver_version;  // where measurable
  std::string why_not;         // where not: a sentence
};

// Asks a worker about the GPU; without --arch the GPU is the target. Throws UsageError for an
// architecture that NVRTC or the device table does not know or that is missing altogether, and
// DeviceError where --require-gpu cannot be met.
Target resolve_target(const Options& options);

// The database at --db or its default place.
std::filesystem::path database_path(const Options& options);

}  // namespace gemm_tune
