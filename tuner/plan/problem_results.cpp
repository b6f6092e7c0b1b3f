// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/problem_results.h"

#include <utility>

#include "kernel_templates/registry/library_families.h"

namespace gemm_tune {

KernelRevisions revisions_of(const TuneRequest& request) {
  return request.kernels ? revisions_of(*request.kernels) : current_revisions();
}

Environment environment_of(const TuneRequest& request) {
  Environment environment;
  environment.revisions = revisions_of(request);
  environment.revisions.insert(request.libraries.begin(), request.libraries.end());
  environment.cuda_version = request.cuda_version;
  environment.driver_version = request.driver_version;
  return environment;
}

std::vector<Record> ProblemResults::valid_rows(std::size_t& stale) const {
  std::vector<Record> valid;
  const auto turn = this->turn();
  for (Record& record : database_.records(key_, problem_)) {
    if (record.source != source_) continue;
    if (grade(record, environment_).validity == Validity::stale) {
      ++stale;
    } else {
      valid.push_back(std::move(record));
    }
  }
  return valid;
}

bool ProblemResults::is_new() const {
  const auto turn = this->turn();
  return database_.records(key_, problem_).empty();
}

std::vector<TimedConfig> ProblemResults::timed_elsewhere() const {
  auto turn = this->turn();
  std::vector<TimedConfig> timed = database_.timed_elsewhere(key_, problem_);
  if (turn) turn.unlock();
  std::erase_if(timed, [this](const TimedConfig& one) {
    return names_library(one.config) ||
           why_stale(one.config, one.revision, environment_.revisions).has_value();
  });
  return timed;
}

void ProblemResults::store(const KnownConfig& config, const Outcome& outcome) {
  if (outcome.by_environment) return;
  const auto turn = this->turn();
  database_.store(key_, problem_, to_string(config.config()),
                  environment_.revisions.at(config.family->name), outcome, source_);
}

void ProblemResults::store_baseline(const Baseline& baseline) {
  const auto turn = this->turn();
  database_.store_baseline(key_, problem_, baseline);
}

std::vector<Baseline> ProblemResults::baselines(const Record& row) const {
  const auto turn = this->turn();
  return database_.baselines(row);
}

void ProblemResults::together(const std::function<void()>& writes) {
  const auto turn = this->turn();
  database_.together(writes);
}

}  // namespace gemm_tune
