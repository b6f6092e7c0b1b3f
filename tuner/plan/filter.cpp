// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/filter.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>

#include "core/device/occupancy.h"
#include "core/error.h"
#include "search/model/machine_profile.h"
#include "search/model/static_model.h"
#include "search/model/warpgroup_cycles.h"

namespace gemm_tune {
namespace {

// The reasons that rules_of_problem() has, too.
constexpr std::string_view kTooWide = "vector accesses wider than the problem's alignment";
constexpr std::string_view kRaggedEdge =
    "not predicated and the problem is not a multiple of the tile";
constexpr std::string_view kNeedlessPredicates = "predicated where the problem has no ragged edge";
constexpr std::string_view kNeedlessCopies = "copies operands to aligned rows whose own suffice";
constexpr std::string_view kNarrow = "narrower accesses than the alignment allows";
constexpr std::string_view kShortShares = "shares along K of hardly a slice";
constexpr std::string_view kCutsNothing = "cuts no tile of a ragged last wave";
constexpr std::string_view kTooManyStages = "more stages than slices";

// Registers by which an estimate may be off before it counts; see ModelConstants
// (squeezable_registers). A property of the compiler, not of the GPU.
constexpr int kRegisterMargin = 24;

// By how much an estimate may exceed what a thread gets: the compiler finds ways to do with fewer
// registers where there are many. Of 45 kernels of sm_86 whose estimate exceeds it, 16 of 19 spilt
// that get 64 registers and 8 of the 26 others; of 23 problems on an H100 none was won above this.
int tolerated_excess(int registers) { return std::clamp((registers - 64) / 3, 0, kRegisterMargin); }

// What one CTA has to do, at least.
std::int64_t slices_of(const Traits& traits, const Problem& problem) {
  return (problem.K + traits.tile_k - 1) / traits.tile_k / std::max(traits.split_k, 1);
}

bool copies_aligned_rows(const Traits& traits, const Problem& problem) {
  const Alignments aligned = alignments(problem);
  return traits.repack && traits.vec <= std::min(aligned.a, aligned.b);
}

bool is_narrower_than_possible(const Traits& traits, const Problem& problem) {
  return traits.vec < (traits.repack ? repacked_class(problem) : alignment_class(problem));
}

bool has_stages_without_slices(const Traits& traits, const Problem& problem) {
  return traits.stages - 1 > std::max<std::int64_t>(slices_of(traits, problem), 1);
}

const RecordedLosses& recorded_losses(const Signature& signature, const DeviceSpec& device) {
  // All recordings are of FFMAs and say nothing about tensor cores.
  static constexpr RecordedLosses kNone;
  return uses_tensor_cores(signature) ? kNone : machine_profile(device.arch).losses;
}

bool has_too_short_shares(const Traits& traits, const Problem& problem,
                          const RecordedLosses& losses) {
  return traits.split_k > 1 && slices_of(traits, problem) < losses.least_slices_per_share;
}

// What lost everywhere in recordings on a GPU of the architecture, if any were made: at the
// problem.
std::optional<std::string_view> recorded_loss(const KnownConfig& config, const Problem& problem,
                                              const DeviceSpec& device) {
  const Traits& traits = config.traits;
  const RecordedLosses& losses = recorded_losses(traits.signature, device);
  if (has_too_short_shares(traits, problem, losses)) return kShortShares;
  if (losses.most_shared_waves && traits.split_k > 1 &&
      grid_of(config.recipe, problem, device.sm_count).ctas() >
          *losses.most_shared_waves * traits.split_k * device.sm_count) {
    return "shares tiles along K where there are enough of them";
  }
  return std::nullopt;
}

// The same at every problem.
std::optional<std::string_view> recorded_loss(const KnownConfig& config, const DeviceSpec& device) {
  const MachineProfile& profile = machine_profile(device.arch);
  const Traits& traits = config.traits;
  const RecordedLosses& losses = recorded_losses(traits.signature, device);
  if (losses.most_unrolled &&
      traits.unrolled_k * traits.thread_m * traits.thread_n > *losses.most_unrolled) {
    return "main loop longer than the instruction cache holds";
  }
  if (losses.late_operands && loads_operands_late(traits, device, profile.model)) {
    return "loads operands late where registers let it load them early";
  }
  return std::nullopt;
}

// Whether the family's rules take a config with and without predicates alike.
bool ignores_predicates(const KernelFamily& family, std::size_t predicated) {
  return std::none_of(family.rules.begin(), family.rules.end(), [&](const FamilyRule& rule) {
    return std::count(rule.reads.begin(), rule.reads.end(), predicated) > 0;
  });
}

// Whether the family has the same config without predicates.
bool has_unpredicated_specialisation(const KnownConfig& config) {
  const KernelFamily& family = *config.family;
  const std::optional<std::size_t> predicated = family.find_role(Role::predicated);
  if (!predicated || config.values[*predicated] == 0) return false;
  if (ignores_predicates(family, *predicated)) return true;
  Specialisation unpredicated = config.specialisation();
  unpredicated.predicated = false;
  return !family.reject(family.specialised(config.values, unpredicated));
}

// A text for each refusal, fewer than there are.
std::optional<std::string_view> reason_of(Refusal refused) {
  switch (refused) {
    case Refusal::none:
      return std::nullopt;
    case Refusal::types:
      return "the kernel is for other element types";
    case Refusal::accuracy:
      return "the kernel is of another accuracy class";
    case Refusal::layout:
      return "the kernel is for another layout";
    case Refusal::batch_kind:
      return "the kernel is for another kind of batch";
    case Refusal::alignment:
      return kTooWide;
    case Refusal::multiple_m:
    case Refusal::multiple_n:
    case Refusal::multiple_k:
      return kRaggedEdge;
    case Refusal::repack_size:
      return "copies of operands that are too large for copies";
    case Refusal::tail_of_batch:
    case Refusal::repack_of_batch:
    case Refusal::batch:
      return "not legal for the problem's batch";
    case Refusal::grid:
      return "the problem is too large: more CTAs than a launch may have";
    case Refusal::counters:
      return "the problem is too large: more tiles than can be counted";
  }
  throw Error("a refusal outside the closed list");
}

// The parameters that the rules of a problem read: of each family those that it has.
struct ReadParams {
  std::optional<std::size_t> vec, repack, vecs, predicated, tile_m, tile_n, tile_k, split_k, stages;

  // What these say; a default value where the family has no such parameter.
  Traits traits(Values values) const {
    const auto value = [&](const std::optional<std::size_t>& at, int otherwise) {
      return at ? values[*at] : otherwise;
    };
    Traits traits;
    traits.vec = value(vec, 1);
    traits.repack = value(repack, 0) != 0;
    traits.vecs = value(vecs, 0);
    traits.tile_k = value(tile_k, 1);
    traits.split_k = value(split_k, 1);
    traits.stages = value(stages, 1);
    return traits;
  }
};

ReadParams read_params(const KernelFamily& family) {
  return {family.find_role(Role::vector_width),  family.find_role(Role::repack),
          family.find_role(Role::vector_widths), family.find_role(Role::predicated),
          family.find_trait(&Traits::tile_m),    family.find_trait(&Traits::tile_n),
          family.find_trait(&Traits::tile_k),    family.find_trait(&Traits::split_k),
          family.find_trait(&Traits::stages)};
}

void add_rule(std::vector<FamilyRule>& rules, std::string_view reason,
              std::initializer_list<std::optional<std::size_t>> reads,
              std::function<bool(Values)> is_broken) {
  FamilyRule rule = {std::string(reason), {}, std::move(is_broken)};
  for (const auto& read : reads) {
    if (read) rule.reads.push_back(*read);
  }
  std::sort(rule.reads.begin(), rule.reads.end());
  rules.push_back(std::move(rule));
}

void add_alignment_rules(std::vector<FamilyRule>& rules, const ReadParams& of,
                         bool is_fastest_at_widest_vec, const Problem& problem) {
  add_rule(rules, kTooWide, {of.vec, of.repack, of.vecs},
           [of, launch = launch_problem(problem)](Values v) {
             return !is_aligned(launch_recipe(of.traits(v)), launch);
           });
  add_rule(rules, kNeedlessCopies, {of.vec, of.repack},
           [of, problem](Values v) { return copies_aligned_rows(of.traits(v), problem); });
  if (!is_fastest_at_widest_vec) return;
  add_rule(rules, kNarrow, {of.vec, of.repack},
           [of, problem](Values v) { return is_narrower_than_possible(of.traits(v), problem); });
}

void add_edge_rules(std::vector<FamilyRule>& rules, const ReadParams& of, const Problem& problem) {
  const std::pair<std::optional<std::size_t>, std::int64_t> edges[] = {
      {of.tile_m, problem.M}, {of.tile_n, problem.N}, {of.tile_k, problem.K}};
  for (const auto& [tile, edge] : edges) {
    if (!tile) continue;
    // Copies are padded along K.
    const std::optional<std::size_t> repack = tile == of.tile_k ? of.repack : std::nullopt;
    add_rule(rules, kRaggedEdge, {of.predicated, tile, repack},
             [predicated = *of.predicated, tile = *tile, repack, edge = edge](Values v) {
               return v[predicated] == 0 && edge % v[tile] != 0 && !(repack && v[*repack] != 0);
             });
  }
}

// Whether tiles of these extents are cut by an edge of the problem.
bool has_ragged_edge(const Problem& problem, int tile_m, int tile_n, int tile_k) {
  return problem.M % tile_m != 0 || problem.N % tile_n != 0 || problem.K % tile_k != 0;
}

// Of a family whose rules take a config with and without predicates alike.
void add_rule_of_needless_predicates(std::vector<FamilyRule>& rules, const ReadParams& of,
                                     const Problem& problem) {
  add_rule(rules, kNeedlessPredicates, {of.predicated, of.tile_m, of.tile_n, of.tile_k},
           [predicated = *of.predicated, tile_m = *of.tile_m, tile_n = *of.tile_n,
            tile_k = *of.tile_k, problem](Values v) {
             return v[predicated] != 0 &&
                    !has_ragged_edge(problem, v[tile_m], v[tile_n], v[tile_k]);
           });
}

}  // namespace

std::optional<std::string_view> reject_before_compile(const KnownConfig& config,
                                                      const Problem& problem,
                                                      const DeviceSpec& device) {
  const Refusal refused = refusal(config.recipe, launch_problem(problem));
  const bool is_of_another_kind =
      refused == Refusal::types || refused == Refusal::accuracy || refused == Refusal::layout;
  if (is_of_another_kind) return reason_of(refused);
  if (const auto reason = reject_on_device(config, device)) return reason;
  return reason_of(refused);
}

std::optional<std::string_view> reject_on_device(const KnownConfig& config,
                                                 const DeviceSpec& device) {
  const LaunchRecipe& recipe = config.recipe;
  if (!has_instructions(config.traits, device.sm())) return kLacksInstructions;
  if (config.traits.async_copy && device.cc_major < 8) {
    return "needs cp.async, which the target lacks";
  }
  if (config.traits.cluster_ctas > 1 && device.cc_major < 9) {
    return "needs clusters, which the target lacks";
  }
  if (recipe.block_threads > device.max_threads_per_cta) {
    return "more threads per CTA than the device allows";
  }
  if (recipe.smem_bytes + device.smem_reserved_per_cta_bytes > device.smem_per_sm_bytes ||
      recipe.smem_bytes > device.max_smem_per_cta_bytes) {
    return "more shared memory per CTA than the device has";
  }
  return std::nullopt;
}

std::vector<FamilyRule> rules_of_problem(const KernelFamily& family, const Problem& problem,
                                         const DeviceSpec& device) {
  const ReadParams of = read_params(family);
  std::vector<FamilyRule> rules;
  if (of.vec) add_alignment_rules(rules, of, family.is_fastest_at_widest_vec, problem);
  if (of.predicated) add_edge_rules(rules, of, problem);
  if (of.predicated && of.tile_m && of.tile_n && of.tile_k &&
      ignores_predicates(family, *of.predicated)) {
    add_rule_of_needless_predicates(rules, of, problem);
  }
  if (of.tile_k && of.split_k) {
    add_rule(rules, kShortShares, {of.tile_k, of.split_k},
             [of, problem, &losses = recorded_losses(problem.signature, device)](Values v) {
               return has_too_short_shares(of.traits(v), problem, losses);
             });
  }
  if (of.tile_k && of.stages) {
    add_rule(rules, kTooManyStages, {of.tile_k, of.split_k, of.stages},
             [of, problem](Values v) { return has_stages_without_slices(of.traits(v), problem); });
  }
  return rules;
}

bool would_spill(const KnownConfig& config, const DeviceSpec& device) {
  const int most =
      std::min(device.max_registers_per_thread, shared_registers(config.traits, device));
  return config.traits.registers_estimate > most + tolerated_excess(most);
}

bool may_keep(int sixteenths, const Problem& problem, const DeviceSpec& device) {
  const std::int64_t widest = std::max(problem.M * bytes_of(problem.signature.a),
                                       problem.N * bytes_of(problem.signature.b));
  const double bytes = static_cast<double>(widest) * static_cast<double>(problem.K) *
                       static_cast<double>(problem.batch);
  const double kept = bytes * sixteenths / 16, l2 = static_cast<double>(device.l2_bytes);
  return bytes > l2 && kept >= l2 / 8 && kept <= l2 * 0.8;
}

std::optional<std::string_view> reject_needless(const KnownConfig& config, const Problem& problem,
                                                const DeviceSpec& device) {
  const Traits& traits = config.traits;
  if (copies_aligned_rows(traits, problem)) {
    return kNeedlessCopies;
  }
  if (config.family->is_fastest_at_widest_vec && is_narrower_than_possible(traits, problem)) {
    return kNarrow;
  }
  if (const auto loss = recorded_loss(config, problem, device)) return loss;
  if (config.family->find_trait(&Traits::stages) && has_stages_without_slices(traits, problem)) {
    return kTooManyStages;
  }
  if (traits.kept_sixteenths > 0 && !may_keep(traits.kept_sixteenths, problem, device)) {
    return "keeps too little or too much of the large operand in the L2";
  }
  if (traits.tail_ctas_per_sm > 0 &&
      grid_of(config.recipe, problem, device.sm_count).piece_k == 0) {
    return kCutsNothing;
  }
  if (traits.cuts_tiles && cut_tiles(traits, problem, device.sm_count).tiles == 0)
    return kCutsNothing;
  if (const auto reason = reject_needless_on_device(config, device)) return reason;
  // Whole tiles are all that the unpredicated specialisation demands beyond what this config does.
  if (!traits.predicated || has_ragged_edge(problem, traits.tile_m, traits.tile_n, traits.tile_k) ||
      !has_unpredicated_specialisation(config)) {
    return std::nullopt;
  }
  return kNeedlessPredicates;
}

std::optional<std::string_view> reject_needless_on_device(const KnownConfig& config,
                                                          const DeviceSpec& device) {
  const Traits& traits = config.traits;
  if (const auto loss = recorded_loss(config, device)) return loss;
  if (traits.deeper_sm != 0 && traits.deeper_sm <= device.sm()) {
    return "two instructions where the target has one";
  }
  if (would_spill(config, device)) return "would spill, by the estimate of its registers";
  if (traits.least_ctas_per_sm > 1 &&
      traits.registers_estimate + kRegisterMargin <= shared_registers(traits, device)) {
    return "asks the compiler for CTAs per SM that fit unasked";
  }
  return std::nullopt;
}

std::vector<int> seen_by_problems(const KnownConfig& config) {
  const LaunchRecipe& recipe = config.recipe;
  const Traits& traits = config.traits;
  return {recipe.tile_m,
          recipe.tile_n,
          recipe.tile_k,
          recipe.split_k,
          recipe.cluster_blocks,
          recipe.tail_ctas_per_sm,
          static_cast<int>(recipe.layout),
          recipe.alignment,
          recipe.multiple_m,
          recipe.multiple_n,
          recipe.multiple_k,
          static_cast<int>(recipe.type_a),
          static_cast<int>(recipe.type_b),
          static_cast<int>(recipe.type_cd),
          static_cast<int>(recipe.accuracy),
          recipe.repack ? 1 : 0,
          recipe.alignment_a,
          recipe.alignment_b,
          recipe.alignment_cd,
          traits.vec,
          traits.stages,
          traits.kept_sixteenths,
          traits.cuts_tiles ? 1 : 0,
          traits.predicated ? 1 + (has_unpredicated_specialisation(config) ? 1 : 0) : 0};
}

std::optional<std::string> reject_after_compile(const Resources& resources) {
  if (resources.spill_bytes > kTolerableSpillBytes) return "registers spill to local memory";
  if (resources.stack_bytes > kTolerableSpillBytes) return "arrays in local memory (stack frame)";
  if (resources.ctas_per_sm < 1) return "no CTA fits an SM";
  return std::nullopt;
}

std::vector<std::size_t> rejected_alike(const ConfigList& points, std::size_t rejected) {
  const KernelFamily& family = points.family(rejected);
  const auto changes_registers = [](const ParamSpec& param) {
    return param.registers_by == RegistersBy::value;
  };
  if (std::all_of(family.params.begin(), family.params.end(), changes_registers)) return {};
  const std::span<const ConfigList::Value> verdict = points.values(rejected);
  const auto shares_verdict = [&](std::size_t point) {
    const std::span<const ConfigList::Value> values = points.values(point);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const RegistersBy by = family.params[i].registers_by;
      if (by == RegistersBy::value && values[i] != verdict[i]) return false;
      if (by == RegistersBy::presence && (values[i] != 0) != (verdict[i] != 0)) return false;
    }
    return true;
  };
  std::vector<std::size_t> alike;
  for (std::size_t point = 0; point < points.size(); ++point) {
    if (point != rejected && &points.family(point) == &family && shares_verdict(point)) {
      alike.push_back(point);
    }
  }
  return alike;
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
