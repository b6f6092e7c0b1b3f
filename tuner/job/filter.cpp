// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/filter.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/occupancy.h"

namespace gemm_tune {
namespace {

// Tiles for each SM from which on sharing them along K has never won.
constexpr std::int64_t kMostSharedWaves = 4;
// Slices that a share along K must have, below which it is all start and end.
constexpr std::int64_t kLeastSlices = 2;
// Multiplications in the code of a main loop from which on it leaves the instruction cache: of 18
// problems recorded on an H100 one was won by more of them, by 0.1 %.
constexpr int kMostUnrolled = 1024;
// Registers by which an estimate may be off before it counts; see ModelConstants.
constexpr int kRegisterMargin = 24;

// By how much an estimate may exceed what a thread gets: the compiler finds ways to do with fewer
// registers where there are many. Of 45 kernels of sm_86 whose estimate exceeds it, 16 of 19 spilt
// that get 64 registers and 8 of the 26 others; of 23 problems on an H100 none was won above this.
int tolerated_excess(int registers) { return std::clamp((registers - 64) / 3, 0, kRegisterMargin); }

// Of a thread, where as many CTAs as the config asks for share an SM's.
int shared_registers(const Traits& traits, const DeviceSpec& device) {
  return device.registers_per_cta / (traits.threads * traits.least_ctas_per_sm);
}

// A text for each refusal, fewer than there are.
std::optional<std::string_view> reason_of(Refusal refused) {
  switch (refused) {
    case Refusal::none:
      return std::nullopt;
    case Refusal::layout:
      return "the kernel is for another layout";
    case Refusal::alignment:
      return "vector accesses wider than the problem's alignment";
    case Refusal::multiple_m:
    case Refusal::multiple_n:
    case Refusal::multiple_k:
      return "not predicated and the problem is not a multiple of the tile";
    case Refusal::tail_of_batch:
    case Refusal::batch:
    case Refusal::grid:
    case Refusal::counters:
      return "not legal for the problem";
  }
  throw Error("a refusal outside the closed list");
}

}  // namespace

std::optional<std::string_view> reject_before_compile(const KnownConfig& config,
                                                      const Problem& problem,
                                                      const DeviceSpec& device) {
  const LaunchRecipe& recipe = config.recipe;
  const Refusal refused = refusal(recipe, launch_problem(problem));
  if (refused == Refusal::layout) return reason_of(refused);
  if (config.traits.async_copy && device.cc_major < 8) {
    return "needs cp.async, which the target lacks";
  }
  if (config.traits.cluster && device.cc_major < 9) {
    return "needs clusters, which the target lacks";
  }
  if (recipe.block_threads > device.max_threads_per_cta) {
    return "more threads per CTA than the device allows";
  }
  if (recipe.smem_bytes + device.smem_reserved_per_cta_bytes > device.smem_per_sm_bytes ||
      recipe.smem_bytes > device.max_smem_per_cta_bytes) {
    return "more shared memory per CTA than the device has";
  }
  return reason_of(refused);
}

bool would_spill(const KnownConfig& config, const DeviceSpec& device) {
  const int most =
      std::min(device.max_registers_per_thread, shared_registers(config.traits, device));
  return config.traits.registers_estimate > most + tolerated_excess(most);
}

std::optional<std::string_view> reject_needless(const KnownConfig& config, const Problem& problem,
                                                const DeviceSpec& device) {
  const Traits& traits = config.traits;
  // What one CTA has to do, in slices.
  const std::int64_t slices =
      (problem.K + traits.tile_k - 1) / traits.tile_k / std::max(traits.split_k, 1);
  if (traits.split_k > 1 && slices < kLeastSlices) return "shares along K of hardly a slice";
  if (traits.stages - 1 > std::max<std::int64_t>(slices, 1)) return "more stages than slices";
  if (traits.split_k > 1 && grid_of(config.recipe, problem, device.sm_count).ctas() >
                                kMostSharedWaves * traits.split_k * device.sm_count) {
    return "shares tiles along K where there are enough of them";
  }
  if (traits.tail_ctas_per_sm > 0 &&
      grid_of(config.recipe, problem, device.sm_count).piece_k == 0) {
    return "cuts no tile of a ragged last wave";
  }
  if (would_spill(config, device)) return "would spill, by the estimate of its registers";
  const int fit = shared_registers(traits, device);
  if (traits.least_ctas_per_sm > 1 && traits.registers_estimate + kRegisterMargin <= fit) {
    return "asks the compiler for CTAs per SM that fit unasked";
  }
  if (traits.unrolled_k * traits.thread_m * traits.thread_n > kMostUnrolled) {
    return "main loop longer than the instruction cache holds";
  }
  // Recorded on an H100: of 111 pairs the median gains 2 %, and no problem was won without. Where
  // no warps share the k steps, the estimate has a second set of operands in it either way.
  const bool shares_steps = traits.threads_along_k > 1;
  const int early =
      traits.registers_estimate + (shares_steps ? traits.thread_m + traits.thread_n : 0);
  if (traits.stages > 1 && !traits.feeds_ahead &&
      early <= kRegisterMargin + std::min(device.max_registers_per_thread, fit)) {
    return "loads operands late where registers let it load them early";
  }
  if (!traits.predicated) return std::nullopt;
  // Whole tiles are all that the unpredicated twin demands beyond what this config does.
  if (problem.M % traits.tile_m != 0 || problem.N % traits.tile_n != 0 ||
      problem.K % traits.tile_k != 0) {
    return std::nullopt;
  }
  Specialisation of_twin = config.specialisation();
  of_twin.predicated = false;
  const std::vector<int> twin = config.family->specialised(config.values, of_twin);
  if (twin == config.values || config.family->reject(twin)) return std::nullopt;  // there is none
  return "predicated where the problem has no ragged edge";
}

std::optional<std::string> reject_after_compile(const Resources& resources) {
  if (resources.spill_bytes > kTolerableSpillBytes) return "registers spill to local memory";
  if (resources.stack_bytes > kTolerableSpillBytes) return "arrays in local memory (stack frame)";
  if (resources.ctas_per_sm < 1) return "no CTA fits an SM";
  return std::nullopt;
}

Resources complete_resources(Resources compiled, const KnownConfig& config,
                             const DeviceSpec& device) {
  compiled.smem_bytes += config.recipe.smem_bytes;
  compiled.ctas_per_sm = occupancy(device, config.recipe.block_threads,
                                   std::max(compiled.registers, 1), compiled.smem_bytes)
                             .ctas_per_sm;
  return compiled;
}

}  // namespace gemm_tune
