// SPDX-License-Identifier: Apache-2.0
// What a database knows of an architecture, as choose() takes it: winners, other timed configs, and
// the winners of each order of sums.
//
// Reads the database once; what was read needs it no more. Pure but for the database; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "choose/one_order.h"
#include "choose/timed_configs.h"
#include "choose/winner_index.h"
#include "db/database.h"
#include "db/validity/validity.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// How many launches a winner's call may take: one, or any number (a pre-pass and a reduction take
// one more each).
enum class Launches { one, any };

// One kernel for each (device, problem) of the architecture, without stale rows
// (db/validity/validity.h). Sorted by choose()'s preference among winners at equal distance: by
// problem text, then measured before predicted, then by time, device and config.
std::vector<Winner> load_winners(const Database& database, const std::string& arch,
                                 const KernelRevisions& revisions = current_revisions(),
                                 Launches launches = Launches::any, const WinnerRule& rule = {});

// For each order of sums that the database holds, its best kernel of each (device, problem). Texts
// that the user edited have none that is known.
std::vector<Winner> load_ordered_winners(const Database& database, const std::string& arch,
                                         const KernelRevisions& revisions = current_revisions(),
                                         const WinnerRule& rule = {});

// Sorts as load_winners() does.
void sort_by_preference(std::vector<Winner>& winners);

// The rows that Tuned is made of.
struct TunedRows {
  std::vector<Winner> winners;  // load_winners(), and the algorithms of libraries that beat them
  std::vector<TimedConfig> timed;
};
TunedRows load_rows(const Database& database, const std::string& arch,
                    const KernelRevisions& revisions, const WinnerRule& rule);

// What a database knows of an architecture.
struct Tuned {
  // Implicit: winners alone are enough.
  Tuned(std::vector<Winner> winners = {},  // NOLINT(google-explicit-constructor)
        std::vector<TimedConfig> timed = {})
      : winners(std::move(winners)), timed(std::move(timed)) {}

  WinnerIndex winners;
  TimedConfigs timed;
  OneOrder ordered;  // loaded where calls are asked for in one order of sums
};

// rule: by another than the default one, a problem is served by such winners only, and no config
// that a search has tried takes the place of the nearest.
Tuned load_tuned(const Database& database, const std::string& arch,
                 const KernelRevisions& revisions = current_revisions(),
                 const WinnerRule& rule = {});

}  // namespace gemm_tune
