// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/finished_problem.h"

#include <algorithm>
#include <utility>

namespace gemm_tune {
namespace {

void add_best(const FinalsResult& finals, const TuneRequest& request, ProblemReport& report) {
  const Objective objective = request.rule.objective;
  for (const RankedCandidate& one : finals.disqualified) {
    --report.funnel.survived;
    count(one.config, one.outcome, report.funnel);
  }
  report.absent_baselines = finals.absent;
  report.others = finals.others;
  if (finals.candidates.empty()) return;
  report.specialisations_verified = finals.complete;
  const auto as_winner = [&](const RankedCandidate& one) {
    const auto library = request.libraries.find(one.config.family->name);
    return TuneWinner{one.config, one.outcome, finals.baselines,
                      library == request.libraries.end() ? "" : library->second};
  };
  const RankedCandidate& winner = finals.candidates.front();
  report.winner = as_winner(winner);
  const auto kernel = std::find_if(finals.candidates.begin(), finals.candidates.end(), is_kernel);
  if (kernel != finals.candidates.begin() && kernel != finals.candidates.end()) {
    report.kernel = as_winner(*kernel);
  }
  for (std::size_t i = 1; i < finals.candidates.size(); ++i) {
    const RankedCandidate& one = finals.candidates[i];
    if (is_tied_with(winner.outcome, one.outcome, objective)) report.tied.push_back(as_winner(one));
  }
}

// limit: the greatest error of a candidate that may win.
ErrorLimit error_limit(const WinnerRule& rule, const FinalsResult& finals, double limit) {
  ErrorLimit found;
  found.ratio = rule.max_error.value();
  const auto see = [&](const RankedCandidate& one) {
    const auto its = error_ratio(one.outcome.error, limit / found.ratio);
    if (its) found.least = std::min(found.least.value_or(*its), *its);
  };
  for (const RankedCandidate& one : finals.candidates) see(one);
  for (const RankedCandidate& one : finals.passed_over) {
    see(one);
    const bool is_faster = finals.candidates.empty() ||
                           one.outcome.deciding_us(rule.objective) <
                               finals.candidates.front().outcome.deciding_us(rule.objective);
    found.passed_over += is_faster ? 1 : 0;
  }
  return found;
}

}  // namespace

ProblemReport report_of(const TuneRequest& request, const Plan& plan, Searched searched,
                        const FinalsResult& finals) {
  ProblemReport report;
  report.problem = plan.problem;
  report.failure = plan.unfit;
  report.objective = request.rule.objective;
  report.budget = plan.budget;
  report.prior = plan.prior_sources;
  report.stale = plan.stale;
  report.funnel = std::move(searched.funnel);
  report.cut_short = searched.cut_short;
  report.target_met = searched.target_met;
  report.settled = searched.settled;
  if (searched.expected_gain.valid()) report.expected_gain = searched.expected_gain.get();
  report.occupancy_disagreements = searched.occupancy_disagreements;
  add_best(finals, request, report);
  if (plan.most_error) {
    report.error_limit = error_limit(request.rule, finals, *plan.most_error);
  }
  return report;
}

}  // namespace gemm_tune
