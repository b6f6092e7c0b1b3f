// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/candidates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "search/space/space.h"
#include "tuner/plan/filter.h"

namespace gemm_tune {
namespace {

Candidates listed_candidates(const TuneRequest& request, const Problem& problem) {
  Candidates result;
  result.funnel.enumerated = request.only.size();
  for (const KnownConfig& listed : request.only) {
    const KnownConfig point =
        request.specialises ? specialised_for(listed, problem).value_or(listed) : listed;
    if (const auto reason = reject(request, problem, point)) {
      ++result.funnel.rejected_by_rule[std::string(*reason)];
    } else {
      result.points.add(*point.family, point.values);
    }
  }
  result.funnel.left = result.points.size();
  return result;
}

// The parameters that the problem settles, and those of shares in the L2 where it keeps none.
std::vector<FixedParam> settled_here(const std::vector<const KernelFamily*>& families,
                                     const TuneRequest& request, const Problem& problem) {
  std::vector<FixedParam> settled = settled_params(problem, request.in_one_order);
  for (const KernelFamily* const family : families) {
    const std::optional<std::size_t> kept = family->find_trait(&Traits::kept_sixteenths);
    if (!kept) continue;
    const ParamSpec& param = family->params[*kept];
    const bool may_keep_any =
        std::any_of(param.values.begin(), param.values.end(),
                    [&](int sixteenths) { return may_keep(sixteenths, problem, request.device); });
    if (!may_keep_any) settled.push_back({param.name, 0, family});
  }
  return settled;
}

Candidates enumerated_candidates(const TuneRequest& request, const Problem& problem,
                                 SpaceMemory& memory) {
  const auto always = [&](const KnownConfig& point) {
    const auto reason = reject_on_device(point, request.device);
    return reason ? reason : reject_needless_on_device(point, request.device);
  };
  const auto here = [&](const KnownConfig& point) { return reject(request, problem, point); };
  std::vector<const KernelFamily*> families = families_of(problem.signature);
  if (!request.families.empty()) {
    std::erase_if(families, [&](const KernelFamily* family) {
      return std::count(request.families.begin(), request.families.end(), family) == 0;
    });
  }
  Space space = enumerate(
      families, settled_here(families, request, problem), {always, seen_by_problems, here},
      {request.most_points, request.seed},
      [&](const KernelFamily& family) { return rules_of_problem(family, problem, request.device); },
      memory, planning_threads(request));
  Candidates result;
  result.funnel.enumerated = space.enumerated;
  result.funnel.rejected_by_rule = std::move(space.rejected);
  result.funnel.decisive = std::move(space.vetoed);
  result.funnel.left = space.valid;
  result.points = std::move(space.points);
  return result;
}

}  // namespace

std::size_t planning_threads(const TuneRequest& request) {
  return std::clamp<std::size_t>((request.jobs + 3) / 4, 1, 4);
}

std::optional<std::string_view> reject(const TuneRequest& request, const Problem& problem,
                                       const KnownConfig& config) {
  const auto reason = reject_before_compile(config, problem, request.device);
  return reason || request.has_list() ? reason : reject_needless(config, problem, request.device);
}

std::optional<KnownConfig> specialised_for(const KnownConfig& config, const Problem& problem) {
  Specialisation whole_tiles = config.specialisation();
  whole_tiles.predicated = false;
  std::vector<int> values = config.family->specialised(config.values, whole_tiles);
  const bool has_whole_tiles = !config.family->is_library() && !config.family->reject(values);
  const std::optional<LegalConfig> legal = legal_for(
      has_whole_tiles ? known_config(*config.family, std::move(values)) : config, problem);
  return legal ? std::optional(legal->config) : std::nullopt;
}

Candidates candidates_for(const TuneRequest& request, const Problem& problem, SpaceMemory& memory) {
  Candidates result = request.has_list() ? listed_candidates(request, problem)
                                         : enumerated_candidates(request, problem, memory);
  result.funnel.searched = result.points.size();
  return result;
}

}  // namespace gemm_tune
