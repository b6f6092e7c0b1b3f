// SPDX-License-Identifier: Apache-2.0
// The device that a run is about, and whether it can be measured on this machine. A value.
#pragma once

#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "db/database.h"

namespace gemm_tune {

struct Target {
  DeviceSpec spec;
  bool measurable = false;              // the GPUs of --device or --devices are the target
  std::vector<int> ordinals;            // their CUDA numbers, if measurable
  std::string driver_version;           // if measurable
  std::string why_not;                  // if not measurable: the reason, as a sentence
  GpuSettings gpu = {};                 // of the first GPU, if measurable
  std::vector<std::string> uuids = {};  // of each GPU, if measurable; "" where unknown
  bool stands_for_arch = false;         // an architecture was named; this is its typical card
};

}  // namespace gemm_tune
