// SPDX-License-Identifier: Apache-2.0
// One problem's rows in the database: what earlier runs found that still holds, and where this
// run's outcomes go. Use from one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/database.h"
#include "db/validity.h"
#include "kernel_templates/registry.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

// What rows are graded against in this request: its kernel texts, compiler and driver.
Environment environment_of(const TuneRequest& request);

class ProblemResults {
 public:
  ProblemResults(Database& database, const TuneRequest& request, const Environment& environment,
                 const Problem& problem)
      : database_(database),
        environment_(environment),
        key_(device_key(request.device)),
        source_(request.measure ? Source::measured : Source::predicted),
        problem_(problem) {}

  // Those of the request's source that need not be tried again; `stale` counts the others.
  std::vector<Record> valid_rows(std::size_t& stale) const;

  // What was timed on this device at other problems and on others at this one, and still holds.
  std::vector<TimedConfig> timed_elsewhere() const;

  // Nothing where the environment made it fail: whatever is known of the candidate from before
  // stands, and the next run tries it again.
  void store(const KnownConfig& config, const Outcome& outcome);
  void set_standing(const KnownConfig& config, Standing standing);
  void store_baseline(const Baseline& baseline);

  // What a valid row was timed beside.
  std::vector<Baseline> baselines(const Record& row) const { return database_.baselines(row); }

  // All that `writes` stores is committed at once.
  void together(const std::function<void()>& writes) { database_.together(writes); }

 private:
  Database& database_;
  const Environment& environment_;
  DeviceKey key_;
  Source source_;
  Problem problem_;
};

}  // namespace gemm_tune
