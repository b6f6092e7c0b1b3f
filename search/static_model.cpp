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
constexpr double kSectorBytes = 32;  // the unit of traffic between L1, L2 and DRAM

// Registers and spills of a config, compiled or estimated.
struct Footprint {
  int registers = 1;
  int smem_bytes = 0;
  double spill_bytes = 0;  // stores + loads per thread
};

Footprint footprint(const Traits& traits, const DeviceSpec& device,
                    const std::optional<Resources>& resources) {
  if (resources) {
    return {std::max(resources->registers, 1), std::max(resources->smem_bytes, traits.smem_bytes),
            static_cast<double>(resources->spill_bytes)};
  }
  // Launch bounds make the compiler fit one CTA's registers into the SM, in steps of 8; what does
  // not fit is stored and loaded again.
  const int warps = (traits.threads + 31) / 32;
  const int fit = device.registers_per_cta / (warps * 32) / 8 * 8;
  const int most = std::min(device.max_registers_per_thread, fit);
  const int wanted = std::max(traits.registers_estimate, 1);
  return {std::min(wanted, most), traits.smem_bytes,
          std::max(0, wanted - most) * 2 * kElementBytes};
}

double overlapped(double a, double b, double exponent) {
  return std::pow(std::pow(a, exponent) + std::pow(b, exponent), 1 / exponent);
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
           const ModelConstants& constants)
      : traits_(traits), constants_(constants), warps_(std::ceil(traits.threads / kWarpSize)) {
    const double k = traits.tile_k;
    const double ffmas =
        static_cast<double>(traits.thread_m) * traits.thread_n / traits.threads_along_k;
    // Local memory is laid out so that a warp's access to one word is one wavefront.
    const double spills = spill_bytes / kElementBytes * constants.spill_passes_per_slice;
    warp_instructions_ =
        k * (ffmas + traits.feed_instructions_per_k + traits.other_instructions_per_k) +
        traits.fill_instructions_per_tile_k + traits.barriers_per_tile_k + spills;
    ffma_cycles_ = warps_ * k * ffmas * kWarpSize / device.fp32_lanes_per_sm;
    issue_cycles_ = warps_ * warp_instructions_ / kSchedulers;
    l1_cycles_ =
        warps_ * (k * traits.feed_wavefronts_per_k + traits.fill_wavefronts_per_tile_k + spills);
    const double l2_hits = bytes.l2 > 0 ? std::max(0.0, 1 - bytes.dram / bytes.l2) : 1;
    memory_latency_ = constants.l2_latency_cycles +
                      (1 - l2_hits) * (constants.dram_latency_cycles - constants.l2_latency_cycles);
    slice_latency_ = traits.reads_global_in_inner_loop
                         ? 0
                         : memory_latency_ + bytes.slice / constants.l2_port_bytes_per_cycle +
                               traits.barriers_per_tile_k * constants.barrier_cycles;
  }

  // Pipe cycles of one CTA for one K slice.
  double ffma_cycles() const { return ffma_cycles_; }
  double issue_cycles() const { return issue_cycles_; }
  double l1_cycles() const { return l1_cycles_; }

  // Cycles in which `residents` CTAs each do one K slice, without exposed latency.
  double busy_cycles(double residents) const {
    const double issue =
        std::max(ffma_cycles_, issue_cycles_) * residents / constants_.issue_efficiency;
    const double pipes = overlapped(issue, l1_cycles_ * residents, constants_.pipe_exponent);
    // One warp by itself: its own instructions, and its waits for the operands of a k step.
    const double feed_latency =
        traits_.reads_global_in_inner_loop ? memory_latency_ : constants_.l1_latency_cycles;
    const double alone = warp_instructions_ / constants_.issue_efficiency +
                         traits_.tile_k * feed_latency / constants_.k_steps_in_flight;
    return std::max(pipes, alone);
  }

  // The part of a slice's load latency that the other residents' work does not hide.
  double exposed_cycles(double residents) const {
    if (slice_latency_ == 0) return 0;
    const double ahead = (traits_.stages - 1) * busy_cycles(residents);
    if (ahead >= slice_latency_) return 0;
    const double others = busy_cycles(residents) * (residents - 1) / residents;
    const double left = slice_latency_ - ahead;
    return left * (1 - constants_.latency_hiding * others / (others + left));
  }

 private:
  const Traits& traits_;
  const ModelConstants& constants_;
  double warps_;
  double warp_instructions_ = 0;  // of one warp for one slice
  double ffma_cycles_ = 0, issue_cycles_ = 0, l1_cycles_ = 0;
  double memory_latency_ = 0, slice_latency_ = 0;
};

}  // namespace

Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources, const ModelConstants& constants) {
  Prediction prediction;
  const Footprint kernel = footprint(traits, device, resources);
  const Occupancy resident = occupancy(device, traits.threads, kernel.registers, kernel.smem_bytes);
  prediction.ctas_per_sm = resident.ctas_per_sm;
  prediction.occupancy = resident.fraction;
  if (resident.ctas_per_sm == 0) {
    prediction.time_us = std::numeric_limits<double>::infinity();
    return prediction;
  }

  const std::int64_t grid = grid_of(launch_recipe(traits), problem, device.sm_count).ctas();
  const double ctas = static_cast<double>(grid);
  const double sms = device.sm_count;
  const double slots = sms * resident.ctas_per_sm;
  prediction.waves = waves(device, grid, resident.ctas_per_sm).waves;
  prediction.tail_efficiency = prediction.waves / std::ceil(prediction.waves);

  const double tile_slices = std::ceil(static_cast<double>(problem.K) / traits.tile_k);
  const double tiles = std::ceil(static_cast<double>(problem.M) / traits.tile_m) *
                       std::ceil(static_cast<double>(problem.N) / traits.tile_n) *
                       static_cast<double>(problem.batch);
  // With TAIL the CTAs of a ragged last wave have an equal part of what it has to do.
  const double slices = traits.tail_ctas_per_sm > 0 ? std::ceil(tile_slices * tiles / ctas)
                                                    : std::ceil(tile_slices / traits.split_k);
  Traffic bytes = traffic(traits, problem, device, ctas, slices * traits.tile_k, slots, constants);
  const MainLoop loop(traits, device, kernel.spill_bytes, bytes, constants);
  // Spill stores write through to the L2; the loads find their lines in L1.
  bytes.l2 +=
      ctas * slices * traits.threads * kernel.spill_bytes / 2 * constants.spill_passes_per_slice;

  // Shares of a tile go through the L2; the last CTA of a tile reads them while nobody else works.
  const double tile_bytes = kElementBytes * traits.tile_m * traits.tile_n;
  const double shares = traits.tail_ctas_per_sm > 0 ? 2 : traits.split_k;
  double share_cycles = 0;
  if (shares > 1) {
    bytes.l2 += 2 * ctas * tile_bytes;
    const double read = shares <= 8 ? shares : 2 * std::sqrt(shares);
    share_cycles =
        2 * constants.l2_latency_cycles + read * tile_bytes / constants.l2_port_bytes_per_cycle;
  }

  // The busiest SM works through its CTAs in full sets of residents, then the rest.
  const auto set_cycles = [&](double residents) {
    const double c_bytes = residents * traits.tile_m * traits.tile_n * kElementBytes;
    return slices * (loop.busy_cycles(residents) + loop.exposed_cycles(residents)) +
           c_bytes / constants.l2_bytes_per_cycle_per_sm + constants.cta_overhead_cycles;
  };
  const std::int64_t sm_ctas = (grid + device.sm_count - 1) / device.sm_count;
  const std::int64_t sets = sm_ctas / resident.ctas_per_sm, rest = sm_ctas % resident.ctas_per_sm;
  double sm_cycles = 0, latency_cycles = 0;
  const auto add_sets = [&](std::int64_t count, std::int64_t residents) {
    if (count == 0 || residents == 0) return;
    const double n = static_cast<double>(count), r = static_cast<double>(residents);
    sm_cycles += n * set_cycles(r);
    latency_cycles += n * slices * loop.exposed_cycles(r);
  };
  add_sets(sets, resident.ctas_per_sm);
  add_sets(1, rest);

  sm_cycles += share_cycles;
  const double cycles_per_us = device.clock_mhz;
  const double pipe_us = ctas * slices / sms / cycles_per_us;  // for one cycle of each slice
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
