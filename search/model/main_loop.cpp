// SPDX-License-Identifier: Apache-2.0
#include "search/model/main_loop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "core/types/parts.h"
#include "core/types/signature.h"

namespace gemm_tune {
namespace {

constexpr double kWarpSize = 32;
constexpr double kSchedulers = 4;  // of an SM; each issues one warp instruction a cycle
constexpr double kInstructionBytes = 16;

// One mma.sync of 16 x 8 elements and 32 bytes along K. Those of 16 bytes do half as much and are
// twice as many, which no limit but the issue rate feels.
constexpr double kMmaBytes = 32;
constexpr double kMmaOutputs = 16 * 8;

// The pipe that multiplies: FFMA on CUDA cores, or mma.sync on tensor cores.
struct MultiplyingPipe {
  double per_cycle = 0;        // multiplications of an SM, those of parts as one
  double per_instruction = 1;  // multiplications of a lane
  double k_per_step = 1;       // k elements between one load of operands and the next
};

MultiplyingPipe multiplying_pipe(const Traits& traits, const DeviceSpec& device,
                                 const ModelConstants& constants) {
  if (!uses_tensor_cores(traits.signature))
    return {static_cast<double>(device.fp32_lanes_per_sm), 1, 1};
  // Tensor cores multiply so many bytes a cycle, whatever the type.
  const AccuracyInfo& accuracy = info_of(traits.signature.accuracy);
  const double bytes = accuracy.parts > 1 ? kPartBytes : bytes_of(traits.signature.a);
  const double depth = kMmaBytes / bytes;
  const int products = products_of(traits.signature);
  const bool sums_in_fp16 = traits.signature.accuracy == Accuracy::sums_fp16;
  const double share = is_geforce(device) && !sums_in_fp16 ? constants.geforce_tensor_share : 1;
  return {constants.tensor_multiplications_per_cycle * constants.mma_sync_share * share *
              kRatedBytes / bytes / products,
          kMmaOutputs * depth / kWarpSize / products, depth};
}

// std::pow() takes several times as long as the multiplications and roots of the exponents by which
// a time at a problem is put together (ModelConstants::memory_exponent, least_launch_exponent).
double power(double x, double p) {
  if (p == 3) return x * x * x;
  if (p == 8) {
    const double x2 = x * x, x4 = x2 * x2;
    return x4 * x4;
  }
  return std::pow(x, p);
}

double root(double x, double p) {
  if (p == 3) return std::cbrt(x);
  if (p == 8) return std::sqrt(std::sqrt(std::sqrt(x)));
  return std::pow(x, 1 / p);
}

}  // namespace

bool is_geforce(const DeviceSpec& device) {
  return device.name.find(kGeforce) != std::string::npos;
}

double overlapped(double a, double b, double p) {
  const auto [low, high] = std::minmax(a, b);
  return low > 0 ? high * root(1 + power(low / high, p), p) : high;
}

double overlapped(double a, double b, double c, double p) {
  const double high = std::max({a, b, c});
  if (!(high > 0)) return high;
  // One of the three is 1.
  return high * root(power(a / high, p) + power(b / high, p) + power(c / high, p), p);
}

double reached_sms(double sms, int cluster_ctas, const ModelConstants& constants) {
  return sms * (cluster_ctas > constants.small_cluster ? constants.large_cluster_share : 1);
}

MainLoop::MainLoop(const Traits& traits, const DeviceSpec& device, double spill_bytes,
                   const ModelConstants& constants)
    : constants_(&constants),
      reads_global_in_inner_loop_(traits.reads_global_in_inner_loop),
      feeds_ahead_(traits.feeds_ahead),
      slices_ahead_(traits.stages - 1 + traits.slices_in_registers),
      warps_(std::ceil(traits.threads / kWarpSize)) {
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
}

LoadLatency MainLoop::latency(const Traffic& bytes, double l2_rate) const {
  const double l2_hits = bytes.l2 > 0 ? std::max(0.0, 1 - bytes.dram / bytes.l2) : 1;
  const double memory =
      constants_->l2_latency_cycles +
      (1 - l2_hits) * (constants_->dram_latency_cycles - constants_->l2_latency_cycles);
  return {memory, reads_global_in_inner_loop_ ? 0 : memory + bytes.slice / l2_rate};
}

double MainLoop::computed_busy_cycles(int residents, const LoadLatency& latency) const {
  const double warps_of_one_scheduler = std::ceil(residents * warps_ / kSchedulers);
  const double pipes = overlapped(warps_of_one_scheduler * warp_cycles_, l1_cycles_ * residents,
                                  constants_->pipe_exponent);
  // One warp by itself: its own instructions, and its waits for the operands of a k step that the
  // step before does not cover.
  const double waits = reads_global_in_inner_loop_
                           ? latency.memory / constants_->k_steps_in_flight
                           : std::max(0.0, constants_->l1_latency_cycles - warp_cycles_ / steps_);
  const double first = feeds_ahead_ ? 0 : constants_->l1_latency_cycles;
  const double alone = warp_cycles_ + fetch_cycles_ + first + steps_ * waits;
  return overlapped(pipes, alone, constants_->pipe_exponent);
}

void MainLoop::remember_busy_cycles(int most_residents) {
  if (reads_global_in_inner_loop_) return;
  for (int residents = 1; residents <= most_residents; ++residents) {
    busy_cycles_.push_back(computed_busy_cycles(residents, {}));
  }
}

double MainLoop::busy_cycles(int residents, const LoadLatency& latency) const {
  const auto place = static_cast<std::size_t>(residents) - 1;
  return place < busy_cycles_.size() ? busy_cycles_[place]
                                     : computed_busy_cycles(residents, latency);
}

double MainLoop::exposed_cycles(double busy, const LoadLatency& latency) const {
  return std::max(0.0, latency.slice - slices_ahead_ * busy);
}

double MainLoop::start_cycles(double residents, const LoadLatency& latency) const {
  const double moving = std::max(0.0, latency.slice - latency.memory);  // none of single elements
  return constants_->start_round_trips * latency.memory +
         residents * (1 + constants_->stage_start_share * slices_ahead_) * moving;
}

}  // namespace gemm_tune
