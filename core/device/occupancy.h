// SPDX-License-Identifier: Apache-2.0
// How many CTAs of a kernel fit one SM, and which resource limits them.
//
// The rules are those of the CUDA Programming Guide ("Multiprocessor Level") and of the toolkit's
// cuda_occupancy.h; tests/core/occupancy_oracle_test.cpp compares this file with the latter.
// Assumes the largest shared-memory carveout, which the driver chooses if occupancy needs it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/device/device_spec.h"

namespace gemm_tune {

// The resource that one more CTA would exceed; of several the first in this order. impossible: not
// even one CTA fits.
enum class OccupancyLimiter { warps, ctas, registers, smem, impossible };

std::string_view to_string(OccupancyLimiter limiter);

struct Occupancy {
  int ctas_per_sm = 0;
  OccupancyLimiter limiter = OccupancyLimiter::impossible;
  double fraction = 0;  // resident warps over the SM's maximum
};

// threads (per CTA) and registers (per thread) >= 1. smem_bytes: dynamic + static shared memory per
// CTA; the runtime's reserved part is added here. ctas_per_sm is 0 if not even one CTA fits.
Occupancy occupancy(const DeviceSpec& device, int threads, int registers, int smem_bytes);

struct Waves {
  double waves = 0;            // whole and partial
  std::int64_t tail_ctas = 0;  // CTAs of a partial last wave; 0 if the last wave is full
};

// grid_ctas >= 0, ctas_per_sm >= 1.
Waves waves(const DeviceSpec& device, std::int64_t grid_ctas, int ctas_per_sm);

}  // namespace gemm_tune
