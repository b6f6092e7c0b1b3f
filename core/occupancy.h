// SPDX-License-Identifier: Apache-2.0
// How many CTAs of a kernel fit one SM, and what stops one more.
//
// The rules of the CUDA Programming Guide ("Multiprocessor Level") and of the toolkit's
// cuda_occupancy.h, against which tests/core/occupancy_oracle_test.cpp holds this file. Assumes the
// largest shared-memory carveout, which the driver picks by itself where occupancy needs it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/device_spec.h"

namespace gemm_tune {

// What stops one CTA more; of several the first in this order. impossible: not even one CTA fits.
enum class OccupancyLimiter { warps, ctas, registers, smem, impossible };

std::string_view to_string(OccupancyLimiter limiter);

struct Occupancy {
  int ctas_per_sm = 0;
  OccupancyLimiter limiter = OccupancyLimiter::impossible;
  double fraction = 0;  // resident warps over the SM's maximum
};

// threads and registers (per thread) >= 1; smem_bytes is dynamic + static per CTA, without what the
// runtime reserves (added here). ctas_per_sm is 0 where not even one CTA fits.
Occupancy occupancy(const DeviceSpec& device, int threads, int registers, int smem_bytes);

struct Waves {
  double waves = 0;            // whole and partial
  std::int64_t tail_ctas = 0;  // of the last, partial wave; 0 where it is full
};

// grid_ctas >= 0, ctas_per_sm >= 1.
Waves waves(const DeviceSpec& device, std::int64_t grid_ctas, int ctas_per_sm);

}  // namespace gemm_tune
