#include "tuner/filter.h"

#include "core/occupancy.h"

namespace gemm_tune {

std::optional<std::string> reject_before_compile(const KnownConfig& config, const Problem& problem,
                                                 const DeviceSpec& device) {
  const LaunchRecipe& recipe = config.recipe;
  if (recipe.block_threads > device.max_threads_per_cta) {
    return "more threads per CTA than the device allows";
  }
  if (recipe.smem_bytes + device.smem_reserved_per_cta_bytes > device.smem_per_sm_bytes ||
      recipe.smem_bytes > device.max_smem_per_cta_bytes) {
    return "more shared memory per CTA than the device has";
  }
  if (problem.alignment < recipe.alignment) {
    return "vector accesses wider than the problem's alignment";
  }
  if (problem.M % recipe.multiple_m != 0 || problem.N % recipe.multiple_n != 0 ||
      problem.K % recipe.multiple_k != 0) {
    return "not predicated and the problem is not a multiple of the tile";
  }
  if (why_illegal(recipe, problem)) return "not legal for the problem";
  return std::nullopt;
}

std::optional<std::string> reject_needless_predication(const KnownConfig& config,
                                                       const Problem& problem) {
  const auto pred = config.family->find_param("PRED");
  if (!pred || config.values[*pred] == 0) return std::nullopt;
  std::vector<int> unpredicated = config.values;
  unpredicated[*pred] = 0;
  if (config.family->reject(unpredicated)) return std::nullopt;
  if (why_illegal(launch_recipe(config.family->traits(unpredicated)), problem)) return std::nullopt;
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
