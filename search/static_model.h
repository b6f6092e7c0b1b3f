// SPDX-License-Identifier: Apache-2.0
// A time for a config from what is known without running it. A model, and always labelled as such.
//
// Roofline over the SM's pipes: issue slots, L1/shared-memory wavefronts, L2 and DRAM bytes;
// latency that too few warps or stages leave exposed; starts, ends and sums along K; over the CTAs
// of the busiest SM and their tail. Two tiers: from Traits alone (estimated registers), or with the
// compiled kernel's Resources. Its purpose is order, not exact times. Pure, about a microsecond a
// call; any thread.
#pragma once

#include <optional>

#include "core/device_spec.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

// Everything the model assumes beyond Traits and DeviceSpec. Cycles are of the SM clock.
//
// "Fitted" values come from times on an H100 80GB HBM3 (CUDA 13.0): 7 of the problems recorded for
// warp_tiled and skinny (512, 1024, 4096x512x1024, 256x256x8192, 4096, 16x4096x4096,
// 4096x4096x128), each config weighted by how close it is to the best. 15 other problems checked
// them.
struct ModelConstants {
  // Share of its issue slots that a scheduler uses while it has FFMAs and the loads that feed them.
  // Fitted. Main loops without global loads reach 0.84 with 16x8 thread tiles and 0.83 with 8x8.
  double issue_efficiency = 0.82;
  // What goes on at once adds up as (a^p + b^p)^(1/p): infinity would be perfect overlap, 1 none.
  // For an SM's pipes, and for one warp's own chain against all warps' work; fitted, and seen in
  // main loops without global loads: one warp a scheduler is 9 % slower than two.
  double pipe_exponent = 6.0;
  // The same between the SMs as a whole, L2 and DRAM.
  double memory_exponent = 3.0;
  // Loads of a k step that a warp has in flight at once: NVRTC unrolls by 4 where not told.
  double k_steps_in_flight = 4;
  // Shared memory and L1 hit, load to use. Jia et al., "Dissecting the NVIDIA Turing T4 GPU via
  // Microbenchmarking" (2019): 22 to 32 cycles.
  double l1_latency_cycles = 32;
  // Code of the main loop that the instruction cache holds, and how many cycles a warp waits for
  // each instruction beyond it. Fitted; of the recorded main loops those of 18 KB run free, and
  // those of 34 KB took 1.5 times as long with one warp a scheduler.
  double icache_bytes = 32768;
  double fetch_cycles = 0.8;
  // Load to use under load, chosen between fits. Unloaded microbenchmarks give about 200 to 270
  // (L2) and 450 to 700 (DRAM) cycles from T4 to H100.
  double l2_latency_cycles = 450;
  double dram_latency_cycles = 700;
  // Sustained by all SMs reading at once. H100: about 7 TB/s over 132 SMs at 1980 MHz; T4: 1270
  // GB/s over 40 SMs at 1590 MHz is 20 (Jia et al.).
  double l2_bytes_per_cycle_per_sm = 28;
  // What one SM can take in while others do not: the width of its port.
  double l2_port_bytes_per_cycle = 64;
  // Share of the L2 that holds operands between waves; C streams through the rest.
  double l2_usable_share = 0.8;
  // H100 device copy: 2.99 of 3.35 TB/s.
  double dram_efficiency = 0.89;
  // Launching a CTA, its address arithmetic, and draining its stores. Fitted.
  double cta_overhead_cycles = 1300;
  // Round trips to memory outside the main loop: the first slice, and C. Fitted.
  double start_round_trips = 2;
  // What each further stage adds to the start, of the time in which a slice arrives: chosen so that
  // equal configs rank by their stages. 4 stages took 2 % longer than 3 at 256 to 1024.
  double stage_start_share = 0.1;
  // One step of adding up a CTA's sums along K: half the sums stored or loaded, and a barrier.
  // Fitted.
  double sum_step_cycles = 320;
  // SPLIT_K: a CTA's sums on their way to the workspace, a ticket, and the last one's first loads;
  // then all shares at the rate at which one CTA loads. Fitted.
  double share_latency_cycles = 3500;
  double share_bytes_per_cycle = 28;
  // The same in a cluster, where shares stay in shared memory: two barriers of it and one round of
  // loads between. An estimate.
  double cluster_sum_cycles = 900;
  // From one kernel's end to the next one's start in a stream. Chosen between fits.
  double launch_us = 0.5;
  // How often the spills that the compiler reports run for each K slice: spilled accumulators are
  // touched in every unrolled part of the main loop. Spilling configs were seen to fall 10 to 30
  // times.
  double spill_passes_per_slice = 6;
  // Of the registers estimated, those that the compiler can do without under launch bounds: of 58
  // recorded kernels estimated 16 to 24 beyond theirs none spilled.
  double squeezable_registers = 24;
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
