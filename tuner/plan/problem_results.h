// SPDX-License-Identifier: Apache-2.0
// One problem's rows in the database: reads the valid results of earlier runs and stores this
// run's. Use from one thread; the threads of several problems may share a database.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "db/database.h"
#include "db/validity/validity.h"
#include "kernel_templates/registry/registry.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// Of the request's kernels: the user's, or the program's own.
KernelRevisions revisions_of(const TuneRequest& request);

// Their revisions, the request's compiler and driver, with which stored rows are compared.
Environment environment_of(const TuneRequest& request);

class ProblemResults {
 public:
  // turn: held while the database is used, where several threads share it.
  ProblemResults(Database& database, const TuneRequest& request, const Environment& environment,
                 const Problem& problem, std::recursive_mutex* turn = nullptr)
      : database_(database),
        turn_(turn),
        environment_(environment),
        key_(device_key(request.device)),
        source_(request.measure ? Source::measured : Source::predicted),
        problem_(problem) {}

  // The valid rows of the request's source, which need not be tried again. stale: the number of
  // others.
  std::vector<Record> valid_rows(std::size_t& stale) const;

  // Whether the device has no row of the problem, whatever its source.
  bool is_new() const;

  // The valid timings of kernels, of this device at other problems and of other devices at this
  // problem.
  std::vector<TimedConfig> timed_elsewhere() const;

  // Stores nothing for a failure of the environment: an earlier result of the candidate stays
  // valid, and the next run tries the candidate again.
  void store(const KnownConfig& config, const Outcome& outcome);
  void store_baseline(const Baseline& baseline);

  // The baselines beside which a valid row was timed.
  std::vector<Baseline> baselines(const Record& row) const;

  // Commits all rows that `writes` stores at once.
  void together(const std::function<void()>& writes);

 private:
  std::unique_lock<std::recursive_mutex> turn() const {
    return turn_ != nullptr ? std::unique_lock(*turn_) : std::unique_lock<std::recursive_mutex>();
  }

  Database& database_;
  std::recursive_mutex* turn_;
  const Environment& environment_;
  DeviceKey key_;
  Source source_;
  Problem problem_;
};

}  // namespace gemm_tune
