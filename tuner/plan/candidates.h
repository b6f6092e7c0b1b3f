// SPDX-License-Identifier: Apache-2.0
// The configs that a search may try at a problem, and the reasons against the others. Pure; any
// thread.
#pragma once

#include <optional>
#include <string_view>

#include "core/problem/problem.h"
#include "search/space/config_list.h"
#include "search/space/space.h"
#include "tuner/plan/funnel.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

struct Candidates {
  ConfigList points;
  Funnel funnel;  // enumerated, rejected_by_rule, left and searched
};

// The points of the space, or of the request's list, that pass every rule before compiling. If they
// are too many, an even sample of them. memory: of the same request's problems before.
Candidates candidates_for(const TuneRequest& request, const Problem& problem, SpaceMemory& memory);
inline Candidates candidates_for(const TuneRequest& request, const Problem& problem) {
  SpaceMemory none;
  return candidates_for(request, problem, none);
}

// The config's tunables under the specialisation that serves the problem best, whatever M it comes
// from: without predicates where the family has such a kernel that is legal, else as legal_for().
std::optional<KnownConfig> specialised_for(const KnownConfig& config, const Problem& problem);

// In how many threads a problem is planned: a quarter of the compile processes, most of which
// compile meanwhile, and no more than it has use for.
std::size_t planning_threads(const TuneRequest& request);

// Why a config is not a candidate for the problem; nullopt if it is. reject_needless() does not
// apply to a config that the request names.
std::optional<std::string_view> reject(const TuneRequest& request, const Problem& problem,
                                       const KnownConfig& config);

}  // namespace gemm_tune
