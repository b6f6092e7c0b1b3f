// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/problem_results.h"

#include <utility>

namespace gemm_tune {

std::vector<KernelText> texts_of(const TuneRequest& request) {
  return request.kernels ? kernel_texts(*request.kernels) : kernel_texts();
}

Environment environment_of(const TuneRequest& request) {
  Environment environment;
  environment.hashes = hashes_of(texts_of(request));
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

std::vector<TimedConfig> ProblemResults::timed_elsewhere() const {
  auto turn = this->turn();
  std::vector<TimedConfig> timed = database_.timed_elsewhere(key_, problem_);
  if (turn) turn.unlock();
  std::erase_if(timed, [this](const TimedConfig& one) {
    return why_stale(one.config, one.kernel_hash, environment_.hashes).has_value();
  });
  return timed;
}

void ProblemResults::store(const KnownConfig& config, const Outcome& outcome) {
  if (outcome.by_environment) return;
  const auto turn = this->turn();
  Outcome stored = outcome;
  if (outcome.timing) stored.twins_verified = outcome.twins_verified.value_or(false);
  database_.store(key_, problem_, to_string(config.config()),
                  environment_.hashes.at(config.family->name), stored, source_);
}

void ProblemResults::set_standing(const KnownConfig& config, Standing standing) {
  const auto turn = this->turn();
  database_.set_standing(key_, problem_, to_string(config.config()),
                         environment_.hashes.at(config.family->name), standing);
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
