// SPDX-License-Identifier: Apache-2.0
// The least time that the static model gives a problem over a fixed set of configs: about the time
// of a kernel that suits the problem, whatever a database holds.
//
// Pure. Any thread.
#pragma once

#include <optional>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"

namespace gemm_tune {

// In microseconds, of one call. Nothing for a problem that none of the configs serves.
std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device);

}  // namespace gemm_tune
