// SPDX-License-Identifier: Apache-2.0
// What the static model and the search assume of an architecture, and where each figure comes from:
// fitted to recordings on one of its GPUs, or taken from data sheets.
//
// Limits and rates that a driver or a data sheet names are in core/device/device_spec.h. What
// cannot be compiled or cannot be right is a rule of the filter and stands in no profile. Constant
// data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "search/model/learned_correction.h"

namespace gemm_tune {

// Of an element that ModelConstants::tensor_multiplications_per_cycle is for.
inline constexpr double kRatedBytes = 2;
// Of an element of a split operand's part.
inline constexpr double kPartBytes = 2;

// Everything the model assumes beyond Traits and DeviceSpec. Cycles are of the SM clock.
//
// The defaults are those of sm_90. "Fitted" values come from times on an H100 80GB HBM3 (CUDA
// 13.0): 7 of the problems recorded for two families (512, 1024, 4096x512x1024,
// 256x256x8192, 4096, 16x4096x4096, 4096x4096x128), each config weighted by how close it is to the
// best. 15 other problems checked them. "Fitted together" values come from 41,573 times of fp32,
// bf16, f16 and split operands at 435 problems, on an H100 and an H200, half of the problems held
// back in turn (docs/notes/search/static_model.md).
struct ModelConstants {
  // Share of its issue slots that a scheduler uses while it has FFMAs and the loads that feed them.
  // Fitted. Main loops without global loads reach 0.84 with 16x8 thread tiles and 0.83 with 8x8.
  double issue_efficiency = 0.82;
  // Multiplications of 16-bit operands, summed in fp32, that an SM's tensor cores do in a cycle, by
  // data sheets: NVIDIA, "H100 Tensor Core GPU Architecture" (2022), 989.4 TFLOP/s by 132 SMs at
  // 1830 MHz. Not fitted, on any architecture.
  double tensor_multiplications_per_cycle = 2048;
  // The share of that which mma.sync reaches; the rest needs wgmma. Luo et al., "Benchmarking and
  // Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking" (2024).
  double mma_sync_share = 0.62;
  // The share of it that a card has which is sold as GeForce.
  double geforce_tensor_share = 1;
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
  // Load to use. Microbenchmarks give about 200 to 270 (L2) and 450 to 700 (DRAM) cycles from T4 to
  // H100. Fitted together, within these.
  double l2_latency_cycles = 200;
  double dram_latency_cycles = 700;
  // What all SMs together get, for each. The L2 of an H100 delivers 5120 bytes a cycle to 132 SMs
  // (NVIDIA, "H100 Tensor Core GPU Architecture", 2022).
  double l2_bytes_per_cycle_per_sm = 39;
  // What one SM can take in while others do not: the width of its port.
  double l2_port_bytes_per_cycle = 64;
  // Share of the L2 that holds operands between waves; C streams through the rest.
  double l2_usable_share = 0.8;
  // Share of it whose data the next launch finds though more than the L2 holds passed by, if those
  // loads asked to be evicted first. An estimate: either half of the L2 may hold copies of lines
  // whose home is the other one.
  double l2_kept_share = 0.5;
  // H100 device copy: 2.99 of 3.35 TB/s.
  double dram_efficiency = 0.89;
  // Launching a CTA, its address arithmetic, and draining its stores. Fitted together.
  double cta_overhead_cycles = 2000;
  // Round trips to memory outside the main loop: the first slice, and C. Fitted together.
  double start_round_trips = 1.3;
  // What each further stage adds to the start, of the time in which a slice arrives: chosen so that
  // equal configs rank by their stages. 4 stages took 2 % longer than 3 at 256 to 1024.
  double stage_start_share = 0.1;
  // One step of adding up a CTA's sums along K: half the sums stored or loaded, and a barrier.
  // Fitted.
  double sum_step_cycles = 320;
  // SPLIT_K: a CTA's sums on their way to the workspace, a ticket, and the last one's first loads;
  // then all shares at the rate at which one CTA loads. Fitted, the latency together with others.
  double share_latency_cycles = 3200;
  double share_bytes_per_cycle = 28;
  // REDUCE: shares whose loads a thread has under way at once (device/sum/share_reduce.cuh).
  double reduced_at_once = 16;
  // The same in a cluster, where shares stay in shared memory: two barriers of it and one round of
  // loads between. Fitted together.
  double cluster_sum_cycles = 1300;
  // Which share of the SMs clusters of more CTAs than `small_cluster` reach before some SM gets a
  // second one: a cluster lies within one of the GPU's processing clusters, whose SMs it seldom
  // divides evenly. Recorded at 384, 512 and 256x256x8192: 108 CTAs in clusters of 6, or 128 in
  // clusters of 4 or 8, take twice as long as those in clusters of 2 or 3, on SMs that hold one CTA
  // or several.
  int small_cluster = 3;
  double large_cluster_share = 0.75;
  // How much longer a config takes whose operands are loaded during the k step that needs them
  // though registers let them be loaded before it: the median of 111 pairs recorded on an H100.
  double late_operands_factor = 1.02;
  // How much longer a CTA of so many warps takes some of whose copies wait in registers
  // (Traits::copies_wait): all its warps wait for the slowest one's stores. Chosen on an H200,
  // where 357 pairs that differ in that alone took 5 to 6 % longer and 130 of four warps less than
  // one (docs/notes/search/static_model.md).
  double waiting_copies_factor = 1.04;
  int waiting_copies_warps = 8;
  // How much longer more CTAs than are resident at once take where TAIL is no multiple of the
  // residents: their last pieces do not end together. Chosen on 22 problems timed on an H200, where
  // pairs of two residents took 2.4 % longer in the median and 11 % at 3072.
  double uneven_turns_factor = 1.03;
  // Bytes that TMA brings one SM in a cycle while all load. 128 x 128 tiles at 4096 take 58 of them
  // on an H100 and keep the tensor cores busy for 91 % of the time.
  double tma_bytes_per_cycle = 83;
  // Shared memory's bytes a cycle, from which wgmma reads both operands: 64 columns reach 95 % of
  // the peak, 32 63 %, 16 38 % (the paper named above).
  double smem_bytes_per_cycle = 128;
  // How tensor cores, TMA and shared memory overlap under wgmma: as pipe_exponent.
  double warpgroup_exponent = 8.5;
  // Of kernels by wgmma, fitted together as far as cut_tiles_factor: before the first and after the
  // last multiplication of a CTA.
  double warpgroup_edge_cycles = 3400;
  // A launch with clusters; how much longer launches take whose CTAs share loads, and whose CTAs
  // share a tile along K; a launch that adds up the parts of cut tiles, which overlaps with the
  // launch before.
  double cluster_launch_cycles = 300;
  double shared_loads_factor = 1.02;
  double shared_tile_factor = 1.04;
  double reduction_launch_cycles = 1800;
  // How much longer launches take all of whose tiles are cut.
  double cut_tiles_factor = 1.08;
  // From one kernel's end to the next one's start in a stream. Chosen between fits.
  double launch_us = 0.5;
  // No launch is shorter: of all that were timed on an H100, in graphs, 1.8 us was the least. Times
  // far above stay as they are, and shorter ones keep their order.
  double least_launch_us = 1.5;
  double least_launch_exponent = 8;
  // How often the spills that the compiler reports run for each K slice: spilled accumulators are
  // touched in every unrolled part of the main loop. Spilling configs were seen to fall 10 to 30
  // times.
  double spill_passes_per_slice = 6;
  // Of configs whose family has one (Traits::is_corrected), fp32 alone; fitted to what these
  // constants leave, so that it is fitted anew with them. Empty: none.
  std::span<const CorrectionTree> correction;
  // Of the registers estimated, those that the compiler can do without under launch bounds: of 58
  // recorded kernels estimated 16 to 24 beyond theirs none spilled.
  double squeezable_registers = 24;
};

// What lost everywhere in recordings on a GPU of the architecture. A search there leaves it out; on
// an architecture without recordings the defaults leave out nothing that has work to do, and the
// model's times rank these configs among the others.
struct RecordedLosses {
  // Slices that each share along K must have. Below 1 some CTA has nothing to do on any GPU.
  std::int64_t least_slices_per_share = 1;
  // Tiles for each SM beyond which sharing them along K never won.
  std::optional<std::int64_t> most_shared_waves;
  // Multiplications in the code of a main loop beyond which it leaves the instruction cache.
  std::optional<int> most_unrolled;
  // Operands of a k step loaded during that step where registers let them be loaded before it.
  bool late_operands = false;
};

struct MachineProfile {
  std::string_view arch;  // empty: any that has no profile of its own
  // The GPU whose times the constants are fitted to, and when these were recorded; the tests ran
  // kernels of every family there. Nothing:
  // constants are from data sheets and publications, else assumed to be those of sm_90.
  std::optional<std::string_view> measured_on;
  std::string_view measured_at;
  ModelConstants model;
  RecordedLosses losses;
};

// One for each architecture that has its own, in ascending order.
std::span<const MachineProfile> machine_profiles();

// The architecture's ("sm_86"), or that for architectures without one.
const MachineProfile& machine_profile(std::string_view arch);

}  // namespace gemm_tune
