// SPDX-License-Identifier: Apache-2.0
#include "search/model/main_loop.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/types/signature.h"

namespace gemm_tune {
namespace {

constexpr double kWarpSize = 32;
constexpr double kSchedulers = 4;  // of an SM; each issues one warp instruction a cycle
constexpr double kInstructionBytes = 16;

// One mma.sync of 16 x 8 x 16. Those of depth 8 do half as much and are twice as many, which no
// limit but the issue rate feels.
constexpr double kMmaDepth = 16;
constexpr double kMmaMultiplications = 16 * 8 * kMmaDepth;

// The pipe that multiplies: FFMA on CUDA cores, or mma.sync on tensor cores.
struct MultiplyingPipe {
  double per_cycle = 0;        // multiplications of an SM
  double per_instruction = 1;  // multiplications of a lane
  double k_per_step = 1;       // k elements between one load of operands and the next
};

MultiplyingPipe multiplying_pipe(const Traits& traits, const DeviceSpec& device,
                                 const ModelConstants& constants) {
  if (!uses_tensor_cores(traits.signature))
    return {static_cast<double>(device.fp32_lanes_per_sm), 1, 1};
  const bool is_geforce = device.name.find("GeForce") != std::string::npos;
  return {constants.tensor_multiplications_per_cycle * constants.mma_sync_share *
              (is_geforce ? constants.geforce_tensor_share : 1),
          kMmaMultiplications / kWarpSize, kMmaDepth};
}

}  // namespace

double overlapped(double a, double b, double p) {
  const auto [low, high] = std::minmax(a, b);
  return low > 0 ? high * std::pow(1 + std::pow(low / high, p), 1 / p) : high;
}

double reached_sms(double sms, int cluster_ctas, const ModelConstants& constants) {
  return sms * (cluster_ctas > constants.small_cluster ? constants.large_cluster_share : 1);
}

MainLoop::MainLoop(const Traits& traits, const DeviceSpec& device, double spill_bytes,
                   const Traffic& bytes, double l2_rate, const ModelConstants& constants)
    : traits_(traits), constants_(constants), warps_(std::ceil(traits.threads / kWarpSize)) {
  const MultiplyingPipe pipe = multiplying_pipe(traits, device, constants);
  const double k = traits.tile_k;
  const double products = static_cast<double>(traits.thread_m) * traits.thread_n;  // for one k
  const double own_products = products / traits.threads_along_k;
  steps_ = k / traits.threads_along_k / pipe.k_per_step;
  // Local memory is laid out so that a warp's access to one word is one wavefront.
  const double spills = spill_bytes / kRegisterBytes * constants.spill_passes_per_slice;
  const double instructions =
      k * (own_products / pipe.per_instruction + traits.feed_instructions_per_k +
           traits.other_instructions_per_k) +
      traits.fill_instructions_per_tile_k + traits.barriers_per_tile_k + spills;
  // A multiplication of a warp occupies its scheduler's part of the pipe for a cycle or more.
  const double cycles_per_product = kWarpSize * kSchedulers / pipe.per_cycle;
  warp_cycles_ =
      std::max(instructions, k * own_products * cycles_per_product) / constants.issue_efficiency;
  multiply_cycles_ = warps_ * k * own_products * kWarpSize / pipe.per_cycle;
  issue_cycles_ = warps_ * instructions / kSchedulers;
  l1_cycles_ =
      warps_ * (k * traits.feed_wavefronts_per_k + traits.fill_wavefronts_per_tile_k + spills);
  const double code_bytes =
      traits.unrolled_k * kInstructionBytes *
      (products / pipe.per_instruction + traits.feed_instructions_per_k * traits.threads_along_k);
  if (code_bytes > constants.icache_bytes) {
    fetch_cycles_ = instructions * constants.fetch_cycles;
  }
  const double l2_hits = bytes.l2 > 0 ? std::max(0.0, 1 - bytes.dram / bytes.l2) : 1;
  memory_latency_ = constants.l2_latency_cycles +
                    (1 - l2_hits) * (constants.dram_latency_cycles - constants.l2_latency_cycles);
  slice_latency_ = traits.reads_global_in_inner_loop ? 0 : memory_latency_ + bytes.slice / l2_rate;
}

double MainLoop::busy_cycles(double residents) const {
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

double MainLoop::exposed_cycles(double busy) const {
  return std::max(0.0, slice_latency_ - (traits_.stages - 1) * busy);
}

double MainLoop::start_cycles(double residents) const {
  return constants_.start_round_trips * memory_latency_ +
         residents * (1 + constants_.stage_start_share * (traits_.stages - 1)) *
             (slice_latency_ - memory_latency_);
}

}  // namespace gemm_tune
