// SPDX-License-Identifier: Apache-2.0
// The configs that a search may try at a problem, and why the others may not. Pure; any thread.
#pragma once

#include <vector>

#include "core/problem.h"
#include "kernel_templates/registry.h"
#include "tuner/job/funnel.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

struct Candidates {
  std::vector<KnownConfig> points;
  Funnel funnel;  // enumerated, rejected_by_rule, left and searched
};

// The points of the space, or of the request's list, that pass every rule before compiling; an even
// sample of them where they are too many.
Candidates candidates_for(const TuneRequest& request, const Problem& problem);

// Why a config is no candidate for the problem; nothing where it is one. A config that the request
// names passes the rules of reject_needless() unasked.
std::optional<std::string_view> reject(const TuneRequest& request, const Problem& problem,
                                       const KnownConfig& config);

}  // namespace gemm_tune
