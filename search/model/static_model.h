// SPDX-License-Identifier: Apache-2.0
// A time for a config from what is known without running it. A model, and always labelled as such.
//
// Roofline over the SM's pipes: issue slots, FFMAs or tensor cores, L1/shared-memory wavefronts, L2
// and DRAM bytes, by the element types of the config's signature;
// latency that too few warps or stages leave exposed; starts, ends and sums along K; over the CTAs
// of the busiest SM and their tail. Two tiers: from Traits alone (estimated registers), or with the
// compiled kernel's Resources. Its constants are those of the architecture's machine profile. Its
// purpose is order, not exact times. Pure, about a microsecond a call; any thread.
#pragma once

#include <optional>

#include "core/candidate/outcome.h"
#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "kernel_templates/traits.h"
#include "search/model/machine_profile.h"

namespace gemm_tune {

struct Prediction {
  double time_us = 0;
  // The terms, for `explain`. Times are those the pipe alone would need for the whole problem.
  int ctas_per_sm = 0;
  double occupancy = 0;               // resident warps over the SM's maximum
  double waves = 0;                   // whole and partial
  double tail_efficiency = 0;         // useful CTA slots over all slots of the waves started
  double ffma_us = 0, tensor_us = 0;  // of the two pipes that multiply, a config uses one
  double issue_us = 0, l1_us = 0, l2_us = 0, dram_us = 0;
  double latency_us = 0;           // exposed, on the busiest SM
  double repack_us = 0;            // of the launch before, which copies operands
  double flops_per_dram_byte = 0;  // arithmetic intensity
};

// The registers of a thread where as many CTAs as the config asks for share an SM's.
int shared_registers(const Traits& traits, const DeviceSpec& device);

// Whether the operands of a k step are loaded during that step though registers let them be loaded
// before it. Only for FFMAs, with which that was measured.
bool loads_operands_late(const Traits& traits, const DeviceSpec& device,
                         const ModelConstants& constants);

// resources: of the compiled kernel where there is one. A config of which no CTA fits gets an
// infinite time.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources = std::nullopt);

// The same with other constants than those of the device's architecture.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources, const ModelConstants& constants);

}  // namespace gemm_tune
