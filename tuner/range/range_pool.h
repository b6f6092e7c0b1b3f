// SPDX-License-Identifier: Apache-2.0
// The configs that are tried at every M of a range. Reads the database; starts no process.
#pragma once

#include <vector>

#include "choose/one_order.h"
#include "core/problem/problem.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// As many as the request's budget, each with the widest accesses that it may have: one that serves
// every M, or a few that do so together, the best of earlier runs, then by turns what the static
// model expects to be the fastest at each of the problems. Depends on nothing that trying these
// configs adds to the database, so that a run that was stopped goes on. With a list of configs in
// the request: that list. problems: differ in M alone. In one order: only configs whose order of
// sums is known, of the few orders whose best configs the static model expects to lose the least,
// and of the one that look-ups have now. Empty where an interruption is requested meanwhile, and
// where no config may be tried; where some may, but none of a known order, throws NothingFound.
std::vector<KnownConfig> range_pool(const TuneRequest& request,
                                    const std::vector<Problem>& problems, Database& database);

inline constexpr char kNoOrder[] =
    "no config that could be tried has an order of sums that is known not to depend on M: leave "
    "--batch-invariant, --config or an edited --kernel-dir out";

// What the database knows of the device, in one order of sums.
OneOrder stored_orders(const TuneRequest& request, const Database& database);

// The text that all specialisations of the config have that serve the M of a range.
std::string text_for_any_m(const KnownConfig& config);

}  // namespace gemm_tune
