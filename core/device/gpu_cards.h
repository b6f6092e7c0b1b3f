// SPDX-License-Identifier: Apache-2.0
// Cards by name, with the figures that a prediction needs where the card is not here. Boost clocks,
// bandwidths and sizes are nominal and not read from a card: where one is here, its driver's
// figures are used instead. Pure; any thread.
#pragma once

#include <span>

namespace gemm_tune {

struct GpuCard {
  const char* arch;
  const char* name;  // as its driver reports it
  int sm_count;
  int clock_mhz;  // boost
  double dram_gb_per_s;
  int l2_kib;
  int memory_gib;
};

// The cards of an architecture stand together; the first stands for the architecture.
std::span<const GpuCard> gpu_cards();

}  // namespace gemm_tune
