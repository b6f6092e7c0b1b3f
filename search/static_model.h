// A time for a config from what is known without running it. A model, and always labelled as such.
//
// Roofline over the SM's pipes: FFMA issue, L1/shared-memory wavefronts, L2 and DRAM bytes, latency
// left exposed by low occupancy, over whole waves with their tail. Two tiers: from Traits alone
// (estimated registers), or with the compiled kernel's Resources. Pure; any thread.
#pragma once

#include <optional>

#include "core/device_spec.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

struct Prediction {
  double time_us = 0;
  // The terms, for `explain`. Times are those the pipe alone would need for the whole problem.
  int ctas_per_sm = 0;
  double occupancy = 0;        // resident warps over the SM's maximum
  double waves = 0;            // whole and partial
  double tail_efficiency = 0;  // useful CTA slots over all slots of the waves started
  double ffma_us = 0, issue_us = 0, l1_us = 0, l2_us = 0, dram_us = 0, latency_us = 0;
  double flops_per_dram_byte = 0;  // arithmetic intensity
};

// resources: of the compiled kernel where there is one. A config of which no CTA fits gets an
// infinite time.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources = std::nullopt);

}  // namespace gemm_tune
