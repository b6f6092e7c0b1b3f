// SPDX-License-Identifier: Apache-2.0
// Tensor maps for TMA copies, as kernels take them. Any thread.
#pragma once

#include "core/launch/launch_plan.h"

namespace gemm_tune {

// Writes kTensorMapBytes to `to`, which is aligned to kTensorMapAlignment: the map, or zeros where
// its address is null. Throws DeviceError where the driver has no tensor maps or refuses this one.
void encode_tensor_map(const BoundTensorMap& map, void* to);

}  // namespace gemm_tune
