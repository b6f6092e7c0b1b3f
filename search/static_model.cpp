// SPDX-License-Identifier: Apache-2.0
#include "search/static_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/occupancy.h"
#include "kernel_templates/family.h"

namespace gemm_tune {
namespace {

constexpr double kWarpSize = 32;
constexpr double kSchedulers = 4;  // of an SM; each issues one warp instruction a cycle
constexpr double kElementBytes = 4;
constexpr double kInstructionBytes = 16;
constexpr double kSectorBytes = 32;  // the unit of traffic between L1, L2 and DRAM

// Registers and spills of a config, compiled or estimated.
struct Footprint {
  int registers = 1;
  int smem_bytes = 0;
  double spill_bytes = 0;  // stores + loads per thread
};

Footprint footprint(const Traits& traits, const DeviceSpec& device,
                    const std::optional<Resources>& resources, const ModelConstants& constants) {
  if (resources) {
    return {std::max(resources->registers, 1), std::max(resources->smem_bytes, traits.smem_bytes),
            static_cast<double>(resources->spill_bytes)};
  }
  // Launch bounds make the compiler fit the CTAs' registers into the SM, in steps of 8; what it
  // cannot do without is stored and loaded again.
  const int warps = (traits.threads + 31) / 32;
  const int fit = device.registers_per_cta / (warps * 32 * traits.least_ctas_per_sm) / 8 * 8;
  const int most = std::min(device.max_registers_per_thread, fit);
  const int wanted = std::max(traits.registers_estimate, 1);
  return {std::min(wanted, most), traits.smem_bytes,
          std::max(0.0, wanted - most - constants.squeezable_registers) * 2 * kElementBytes};
}

// (a^p + b^p)^(1/p)
double overlapped(double a, double b, double p) {
  const auto [low, high] = std::minmax(a, b);
  return low > 0 ? high * std::pow(1 + std::pow(low / high, p), 1 / p) : high;
}

// How much longer an access gets because whole sectors move.
double sector_waste(double bytes) {
  return bytes > 0 ? std::ceil(bytes / kSectorBytes) * kSectorBytes / bytes : 1;
}

// What the grid moves, in bytes.
struct Traffic {
  double slice = 0;  // one CTA's loads for one K slice
  double l2 = 0;
  double dram = 0;
};

Traffic traffic(const Traits& traits, const Problem& problem, const DeviceSpec& device, double grid,
                double cta_k, double slots, const ModelConstants& constants) {
  const double M = static_cast<double>(problem.M), N = static_cast<double>(problem.N);
  const double K = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  // Rows of A are read tile_k at a time; straight from global memory, L1 keeps the sectors of A for
  // the next k steps.
  const double a_waste =
      traits.reads_global_in_inner_loop ? 1 : sector_waste(traits.tile_k * kElementBytes);
  const double a_row = kElementBytes * a_waste;
  const double b_col = kElementBytes * sector_waste(traits.tile_n * kElementBytes);
  const double c_bytes = M * N * batch * kElementBytes;

  Traffic bytes;
  const double per_k = traits.tile_m * a_row + traits.tile_n * b_col;
  bytes.slice = per_k * traits.tile_k;
  bytes.l2 = grid * per_k * cta_k + c_bytes;

  // Every operand comes from DRAM once. What does not fit the L2 comes again with each wave, which
  // covers whole rows of tiles: the rows' part of A, and B as far as the wave reaches.
  const double once = (M + N) * K * batch * kElementBytes;
  const double tiles_n = std::ceil(N / traits.tile_n);
  const double wave_n = std::min(tiles_n, slots);
  const double wave_m = std::max(1.0, slots / tiles_n);
  const double wave = (wave_m * traits.tile_m + wave_n * traits.tile_n) * cta_k * kElementBytes;
  const double streamed = std::max(once, std::max(1.0, grid / slots) * wave);
  const double fits =
      once > 0
          ? std::min(1.0, static_cast<double>(device.l2_bytes) * constants.l2_usable_share / once)
          : 1.0;
  bytes.dram = once + (1 - fits) * (streamed - once) + c_bytes;
  return bytes;
}

// The main loop on one SM.
class MainLoop {
 public:
  MainLoop(const Traits& traits, const DeviceSpec& device, double spill_bytes, const Traffic& bytes,
           double l2_rate, const ModelConstants& constants)
      : traits_(traits), constants_(constants), warps_(std::ceil(traits.threads / kWarpSize)) {
    const double k = traits.tile_k;
    const double ffmas =
        static_cast<double>(traits.thread_m) * traits.thread_n / traits.threads_along_k;
    steps_ = k / traits.threads_along_k;
    // Local memory is laid out so that a warp's access to one word is one wavefront.
    const double spills = spill_bytes / kElementBytes * constants.spill_passes_per_slice;
    const double instructions =
        k * (ffmas + traits.feed_instructions_per_k + traits.other_instructions_per_k) +
        traits.fill_instructions_per_tile_k + traits.barriers_per_tile_k + spills;
    // An FFMA of a warp occupies the lanes of its scheduler for a cycle or more.
    const double cycles_per_ffma = kWarpSize * kSchedulers / device.fp32_lanes_per_sm;
    warp_cycles_ = std::max(instructions, k * ffmas * cycles_per_ffma) / constants.issue_efficiency;
    ffma_cycles_ = warps_ * k * ffmas * kWarpSize / device.fp32_lanes_per_sm;
    issue_cycles_ = warps_ * instructions / kSchedulers;
    l1_cycles_ =
        warps_ * (k * traits.feed_wavefronts_per_k + traits.fill_wavefronts_per_tile_k + spills);
    const double code_bytes = traits.unrolled_k * kInstructionBytes *
                              (static_cast<double>(traits.thread_m) * traits.thread_n +
                               traits.feed_instructions_per_k * traits.threads_along_k);
    if (code_bytes > constants.icache_bytes) {
      fetch_cycles_ = instructions * constants.fetch_cycles;
    }
    const double l2_hits = bytes.l2 > 0 ? std::max(0.0, 1 - bytes.dram / bytes.l2) : 1;
    memory_latency_ = constants.l2_latency_cycles +
                      (1 - l2_hits) * (constants.dram_latency_cycles - constants.l2_latency_cycles);
    slice_latency_ =
        traits.reads_global_in_inner_loop ? 0 : memory_latency_ + bytes.slice / l2_rate;
  }

  // Pipe cycles of one CTA for one K slice.
  double ffma_cycles() const { return ffma_cycles_; }
  double issue_cycles() const { return issue_cycles_; }
  double l1_cycles() const { return l1_cycles_; }

  // Cycles in which `residents` CTAs each do one K slice, without exposed latency.
  double busy_cycles(double residents) const {
    const double warps_of_one_scheduler = std::ceil(residents * warps_ / kSchedulers);
    const double pipes = overlapped(warps_of_one_scheduler * warp_cycles_, l1_cycles_ * residents,
                                    constants_.pipe_exponent);
    // One warp by itself: its own instructions, and its waits for the operands of a k step that the
    // step before does not cover.
    const double waits = traits_.reads_global_in_inner_loop
                             ? memory_latency_ / constants_.k_steps_in_flight
                             : std::max(0.0, constants_.l1_latency_cycles - warp_cycles_ / steps_);
    const double first = traits_.feeds_ahead ? 0 : constants_.l1_latency_cycles;
    const double alone = warp_cycles_ + fetch_cycles_ + first + steps_ * waits;
    return overlapped(pipes, alone, constants_.pipe_exponent);
  }

  // The part of a slice's load latency that the slices on their way before it do not hide. busy: of
  // busy_cycles().
  double exposed_cycles(double busy) const {
    return std::max(0.0, slice_latency_ - (traits_.stages - 1) * busy);
  }

  // Until `residents` CTAs that begin together have their first slices, and for C at their end.
  double start_cycles(double residents) const {
    return constants_.start_round_trips * memory_latency_ +
           residents * (1 + constants_.stage_start_share * (traits_.stages - 1)) *
               (slice_latency_ - memory_latency_);
  }

 private:
  const Traits& traits_;
  const ModelConstants& constants_;
  double warps_;
  double steps_ = 1;         // k steps of a slice that a warp multiplies
  double warp_cycles_ = 0;   // in which a warp issues what it has to do for one slice
  double fetch_cycles_ = 0;  // in which it waits for the code of that
  double ffma_cycles_ = 0, issue_cycles_ = 0, l1_cycles_ = 0;
  double memory_latency_ = 0, slice_latency_ = 0;
};

}  // namespace

int shared_registers(const Traits& traits, const DeviceSpec& device) {
  return device.registers_per_cta / (traits.threads * traits.least_ctas_per_sm);
}

bool loads_operands_late(const Traits& traits, const DeviceSpec& device,
                         const ModelConstants& constants) {
  if (traits.stages == 1 || traits.feeds_ahead) return false;
  // Where no warps share the k steps, the estimate has a second set of operands in it either way.
  const bool shares_steps = traits.threads_along_k > 1;
  const int early =
      traits.registers_estimate + (shares_steps ? traits.thread_m + traits.thread_n : 0);
  const int most = std::min(device.max_registers_per_thread, shared_registers(traits, device));
  return early <= most + constants.squeezable_registers;
}

Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources) {
  return predict(traits, problem, device, resources, machine_profile(device.arch).model);
}

Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources, const ModelConstants& constants) {
  Prediction prediction;
  const Footprint kernel = footprint(traits, device, resources, constants);
  const Occupancy resident = occupancy(device, traits.threads, kernel.registers, kernel.smem_bytes);
  prediction.ctas_per_sm = resident.ctas_per_sm;
  prediction.occupancy = resident.fraction;
  if (resident.ctas_per_sm == 0) {
    prediction.time_us = std::numeric_limits<double>::infinity();
    return prediction;
  }

  const Grid grid = grid_of(launch_recipe(traits), problem, device.sm_count);
  const double ctas = static_cast<double>(grid.ctas());
  const double sms = device.sm_count;
  const double slots = sms * resident.ctas_per_sm;
  prediction.waves = waves(device, grid.ctas(), resident.ctas_per_sm).waves;
  prediction.tail_efficiency = prediction.waves / std::ceil(prediction.waves);

  const double tile_slices = std::ceil(static_cast<double>(problem.K) / traits.tile_k);
  const double tiles = std::ceil(static_cast<double>(problem.M) / traits.tile_m) *
                       std::ceil(static_cast<double>(problem.N) / traits.tile_n) *
                       static_cast<double>(problem.batch);
  // Of a whole tile's CTA; how many CTAs there would be if TAIL cut no tiles.
  const double slices = std::ceil(tile_slices / traits.split_k);
  const double uncut = tiles * traits.split_k;
  const double all_slices = uncut * slices;
  Traffic bytes = traffic(traits, problem, device, uncut, slices * traits.tile_k, slots, constants);
  // Bytes a cycle for one SM: those that are at work share what the L2 gives.
  const double l2_rate = std::min(constants.l2_port_bytes_per_cycle,
                                  constants.l2_bytes_per_cycle_per_sm * sms / std::min(ctas, sms));
  const MainLoop loop(traits, device, kernel.spill_bytes, bytes, l2_rate, constants);
  // Spill stores write through to the L2; the loads find their lines in L1.
  bytes.l2 +=
      all_slices * traits.threads * kernel.spill_bytes / 2 * constants.spill_passes_per_slice;

  // Shares of a tile go through the L2, except in a cluster; the last CTA of a tile reads them
  // while nobody else works.
  const double tile_bytes = kElementBytes * traits.tile_m * traits.tile_n;
  const bool cuts = grid.piece_k > 0;
  const double shares =
      cuts ? std::ceil(static_cast<double>(problem.K) / static_cast<double>(grid.piece_k))
           : traits.split_k;
  const double cut_tiles = cuts ? (ctas - tiles) / (shares - 1) : 0;
  double share_cycles = 0;
  if (traits.cluster) {
    share_cycles = constants.cluster_sum_cycles;
  } else if (shares > 1) {
    bytes.l2 += 2 * (cuts ? cut_tiles * shares : ctas) * tile_bytes;
    const double rounds = shares <= 8 ? 1 : 2;
    const double read = shares <= 8 ? shares : 2 * std::sqrt(shares);
    share_cycles = rounds * constants.share_latency_cycles +
                   (read + rounds) * tile_bytes / constants.share_bytes_per_cycle;
  }

  // What lies around the main loops of `residents` CTAs at once.
  const auto edge_cycles = [&](double residents) {
    const double c_bytes = residents * traits.tile_m * traits.tile_n * kElementBytes;
    return c_bytes / l2_rate + constants.cta_overhead_cycles + residents * traits.end_wavefronts +
           traits.end_barriers * constants.sum_step_cycles + loop.start_cycles(residents);
  };
  double sm_cycles = 0, latency_cycles = 0;
  // `count` sets of residents, each of which multiplies so many slices.
  const auto add_sets = [&](double count, double residents, double set_slices) {
    if (count <= 0 || residents <= 0) return;
    // The first CTAs begin together; later an edge of one falls into the others' main loops.
    const double edges = sm_cycles == 0 ? 1 + (count - 1) / residents : count / residents;
    const double busy = loop.busy_cycles(residents), exposed = loop.exposed_cycles(busy);
    sm_cycles += count * set_slices * (busy + exposed) + edges * edge_cycles(residents);
    latency_cycles += count * set_slices * exposed;
  };
  if (!cuts) {
    // The busiest SM works through its CTAs in full sets of residents, then the rest.
    const bool is_large = traits.cluster && traits.split_k > constants.small_cluster;
    const double share = is_large ? constants.large_cluster_share : 1;
    const auto sm_ctas = static_cast<std::int64_t>(std::ceil(ctas / (sms * share)));
    const std::int64_t sets = sm_ctas / resident.ctas_per_sm;
    const std::int64_t rest = sm_ctas % resident.ctas_per_sm;
    add_sets(static_cast<double>(sets), resident.ctas_per_sm, slices);
    add_sets(1, static_cast<double>(rest), slices);
  } else {
    // Where as many are resident as the cut reckons with, or fewer, in turns: either the last wave
    // alone is cut, or it and the one before so that all SMs end together. Where more are, the SMs
    // end together anyhow.
    const double at_once = std::min<double>(resident.ctas_per_sm, std::ceil(ctas / sms));
    const double turns = std::max(1.0, traits.tail_ctas_per_sm / at_once);
    const double cut_slots = sms * at_once * turns;
    const double piece = std::ceil(static_cast<double>(grid.piece_k) / traits.tile_k);
    if (at_once <= traits.tail_ctas_per_sm && 2 * cut_tiles <= cut_slots) {
      add_sets((tiles - cut_tiles) / cut_slots * turns, at_once, slices);
      add_sets(turns, at_once, piece);
    } else {
      const double sets = std::ceil(ctas / cut_slots) * turns;
      add_sets(sets, at_once, all_slices / cut_slots * turns / sets);
    }
  }

  if (loads_operands_late(traits, device, constants)) sm_cycles *= constants.late_operands_factor;
  sm_cycles += share_cycles;
  const double cycles_per_us = device.clock_mhz;
  const double pipe_us = all_slices / sms / cycles_per_us;  // for one cycle of each slice
  prediction.ffma_us = loop.ffma_cycles() * pipe_us;
  prediction.issue_us = loop.issue_cycles() * pipe_us;
  prediction.l1_us = loop.l1_cycles() * pipe_us;
  prediction.latency_us = latency_cycles / cycles_per_us;
  prediction.l2_us = bytes.l2 / (constants.l2_bytes_per_cycle_per_sm * sms * cycles_per_us);
  prediction.dram_us = bytes.dram / (device.dram_gb_per_s * 1e3 * constants.dram_efficiency);
  prediction.flops_per_dram_byte = flops(problem) / bytes.dram;
  const double memory_us =
      overlapped(prediction.l2_us, prediction.dram_us, constants.memory_exponent);
  prediction.time_us = constants.launch_us +
                       overlapped(sm_cycles / cycles_per_us, memory_us, constants.memory_exponent);
  return prediction;
}

}  // namespace gemm_tune
