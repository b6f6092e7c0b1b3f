// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/candidates.h"

#include <string>
#include <utility>

#include "search/space.h"
#include "tuner/job/filter.h"

namespace gemm_tune {
namespace {

Candidates listed_candidates(const TuneRequest& request, const Problem& problem) {
  Candidates result;
  result.funnel.enumerated = request.only.size();
  for (const KnownConfig& point : request.only) {
    if (const auto reason = reject(request, problem, point)) {
      ++result.funnel.rejected_by_rule[std::string(*reason)];
    } else {
      result.points.add(*point.family, point.values);
    }
  }
  result.funnel.left = result.points.size();
  return result;
}

Candidates enumerated_candidates(const TuneRequest& request, const Problem& problem) {
  Space space = enumerate(
      families_of(problem.signature), settled_params(problem),
      [&](const KnownConfig& point) { return reject(request, problem, point); },
      {request.most_points, request.seed},
      [&](const KernelFamily& family) {
        return rules_of_problem(family, problem, request.device);
      });
  Candidates result;
  result.funnel.enumerated = space.enumerated;
  result.funnel.rejected_by_rule = std::move(space.rejected);
  result.funnel.left = space.valid;
  result.points = std::move(space.points);
  return result;
}

}  // namespace

std::optional<std::string_view> reject(const TuneRequest& request, const Problem& problem,
                                       const KnownConfig& config) {
  const auto reason = reject_before_compile(config, problem, request.device);
  return reason || request.has_list() ? reason : reject_needless(config, problem, request.device);
}

Candidates candidates_for(const TuneRequest& request, const Problem& problem) {
  Candidates result = request.has_list() ? listed_candidates(request, problem)
                                         : enumerated_candidates(request, problem);
  result.funnel.searched = result.points.size();
  return result;
}

}  // namespace gemm_tune
