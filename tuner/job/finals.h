// SPDX-License-Identifier: Apache-2.0
// Decides the winner among the candidates that have a time.
//
// With a GPU, the best few and the baselines are timed again in turn and ranked by
// core/candidate/winner_rule.h. The specialisations of the first by each of the ranks, and of the
// winner by the run's rule, are verified, so that the winner serves every size. The ranks are
// stored at the very end, so that rows with ranks need no finals again. Use from one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/job/trials.h"
#include "tuner/plan/plan.h"
#include "tuner/plan/problem_results.h"

namespace gemm_tune {

// A candidate with a time.
struct RankedCandidate {
  KnownConfig config;
  Outcome outcome;
  bool in_finals = false;  // in the latest round
  bool retimed = false;    // its timing comes from these finals
};

// Of a family of this program or the user's, not an algorithm of a library.
inline bool is_kernel(const RankedCandidate& one) { return !one.config.family->is_library(); }

// The predicated specialisations that must be served beside the config.
std::vector<KnownConfig> specialisations_of(const KnownConfig& config);

// Whether the outcome's error is known and at most this; true if there is no limit.
bool is_within(const Outcome& outcome, const std::optional<double>& most_error);

// The error of cuBLAS among the baselines, if it is there and known.
std::optional<double> cublas_error(const std::vector<Baseline>& baselines);

// The same of baselines that were just timed: infinite where cuBLAS's results are not all finite,
// so that every candidate with finite results is within it.
std::optional<double> measured_cublas_error(const std::vector<Baseline>& baselines);

// The least of the baselines' times that decide; nullopt if none was timed.
std::optional<double> fastest_us(const std::vector<Baseline>& baselines, Objective objective);

// Best first by the time that decides; equal times in the order of the config texts.
void sort_by_time(std::vector<RankedCandidate>& candidates, Objective objective);

// The factor by which a candidate may be slower than the best and takes part in the finals:
// kReachBeyondL2 or kReach.
double finals_reach(const Problem& problem, const DeviceSpec& device);

// Moves those to the front that take part in the finals, and tells how many these are: the kernels
// within reach of the best kernel, within limits, so that the best kernel has a rank; and so many
// algorithms of libraries as are within reach of the best of all, within the lower limit.
// candidates: best first; their order is kept otherwise.
std::size_t finalists_among(std::vector<RankedCandidate>& candidates, Objective objective,
                            double reach);

// The result of finals.
struct FinalsResult {
  std::vector<RankedCandidate> candidates;    // by rank, then by time
  std::vector<RankedCandidate> disqualified;  // a specialisation was wrong; as stored
  std::vector<RankedCandidate> passed_over;   // their error is above the limit
  std::vector<Baseline> baselines;            // timed in turn with the finalists
  std::vector<std::string> absent;            // why a baseline is not among them, a sentence each
  std::vector<std::string> others;            // other processes seen on the GPU
  bool complete = false;                      // not interrupted: the ranks are stored
};

using OnFinalsStage = std::function<void(const char* stage, const FinalsResult& so_far)>;

// Times the best of the candidates again in turn with the baselines, ranks them, verifies those
// that may be handed out, and stores the ranks. passed_over: candidates whose error was above the
// limit before; they take no part. request: its rule chooses among finalists, with the errors that
// the finals measure on the same operands. tell: called with "finals" and "specialisations", and
// with the results so far. All times are of one GPU: where it is lost, the finals begin anew on
// another. An interrupt skips the rest.
FinalsResult hold_finals(Trials& trials, ProblemResults& results, const Problem& problem,
                         std::vector<RankedCandidate> candidates,
                         std::vector<RankedCandidate> passed_over, const TuneRequest& request,
                         const OnFinalsStage& tell);

// The result of an earlier run's finals, if the best candidate was in them and they had the
// request's baselines. candidates: best first by time, at least one.
std::optional<FinalsResult> earlier_finals(const TuneRequest& request, const Plan& plan,
                                           std::vector<RankedCandidate> candidates);

}  // namespace gemm_tune
