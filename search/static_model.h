// A time for a config from what is known without running it. A model, and always labelled as such.
//
// Roofline over the SM's pipes: FFMA issue, L1/shared-memory wavefronts, L2 and DRAM bytes, latency
// left exposed by low occupancy, over the CTAs of the busiest SM and their tail. Two tiers: from
// Traits alone (estimated registers), or with the compiled kernel's Resources. Its purpose is
// order, not exact times. Pure, about a microsecond a call; any thread.
#pragma once

#include <optional>

#include "core/device_spec.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

// Everything the model assumes beyond Traits and DeviceSpec. Cycles are of the SM clock.
struct ModelConstants {
  // Share of the issue slots that a stream of FFMAs on one thread tile fills: register bank
  // conflicts take the rest. H100, 8x8 tile from registers only: 59.3 of 66.0 TFLOP/s.
  double issue_efficiency = 0.90;
  // Pipes of an SM that are busy at once add up as (a^p + b^p)^(1/p): infinity would be perfect
  // overlap, 1 none. From main loops without global loads on H100: FFMA + LDS at thread tiles 4x4
  // and 8x8 ran at 43.7 and 55.8 TFLOP/s.
  double pipe_exponent = 2.0;
  // The same between the SMs as a whole, L2 and DRAM, which queue deeply.
  double memory_exponent = 3.0;
  // Loads of a k step that a warp has in flight at once: NVRTC unrolls by 4 where not told.
  double k_steps_in_flight = 4;
  // Shared memory and L1 hit, load to use. Jia et al., "Dissecting the NVIDIA Turing T4 GPU via
  // Microbenchmarking" (2019): 22 to 32 cycles.
  double l1_latency_cycles = 32;
  // Load to use under load. Unloaded microbenchmarks give about 200 to 270 (L2) and 450 to 700
  // (DRAM) cycles from T4 to H100; a GEMM's loads come in bursts behind each barrier.
  double l2_latency_cycles = 500;
  double dram_latency_cycles = 900;
  // A barrier with the shared-memory stores before and the first shared loads after it.
  double barrier_cycles = 50;
  // What an SM can take in from L2 while it waits for a slice: the width of its port.
  double l2_port_bytes_per_cycle = 64;
  // Of the latency that the other CTAs of the SM could hide with their work, the share they do
  // hide: CTAs that start together wait together.
  double latency_hiding = 0.5;
  // Sustained by all SMs reading at once. T4: 1270 GB/s over 40 SMs at 1590 MHz (Jia et al.).
  double l2_bytes_per_cycle_per_sm = 20;
  // Share of the L2 that holds operands between waves; C streams through the rest.
  double l2_usable_share = 0.8;
  // H100 device copy: 2.99 of 3.35 TB/s.
  double dram_efficiency = 0.89;
  // Launching a CTA, its address arithmetic, and draining its stores.
  double cta_overhead_cycles = 1000;
  // From one kernel's end to the next one's start in a stream.
  double launch_us = 2.5;
  // How often the spills that the compiler reports run for each K slice: spilled accumulators are
  // touched in every unrolled part of the main loop. Spilling configs were seen to fall 10 to 30
  // times.
  double spill_passes_per_slice = 4;
};

struct Prediction {
  double time_us = 0;
  // The terms, for `explain`. Times are those the pipe alone would need for the whole problem.
  int ctas_per_sm = 0;
  double occupancy = 0;        // resident warps over the SM's maximum
  double waves = 0;            // whole and partial
  double tail_efficiency = 0;  // useful CTA slots over all slots of the waves started
  double ffma_us = 0, issue_us = 0, l1_us = 0, l2_us = 0, dram_us = 0;
  double latency_us = 0;           // exposed, on the busiest SM
  double flops_per_dram_byte = 0;  // arithmetic intensity
};

// resources: of the compiled kernel where there is one. A config of which no CTA fits gets an
// infinite time.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources = std::nullopt,
                   const ModelConstants& constants = {});

}  // namespace gemm_tune
