// SPDX-License-Identifier: Apache-2.0
// Decides the winner among the candidates that have a time.
//
// With a GPU, the best few and the baselines are timed again in turn, and the winner's predicated
// twins are verified, so that the winner serves every size; so are those of the best by hot and by
// cold times without a limit of errors, which `best` and `export` may hand out. The standings are
// stored at the very end, so that rows with standings need no finals again. Use from one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/job/plan.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/trials.h"

namespace gemm_tune {

// A candidate with a time.
struct Finisher {
  KnownConfig config;
  Outcome outcome;
  bool in_finals = false;  // in the latest round
  bool retimed = false;    // its timing comes from these finals

  double time_us() const { return outcome.time_us().value(); }
};

// Whether the outcome's error is known and at most this; true if there is no limit.
bool is_within(const Outcome& outcome, const std::optional<double>& most_error);

// The error of cuBLAS among the baselines, if it is there and known.
std::optional<double> cublas_error(const std::vector<Baseline>& baselines);

// The same of baselines that were just timed: infinite where cuBLAS's results are not all finite,
// so that every candidate with finite results is within it.
std::optional<double> measured_cublas_error(const std::vector<Baseline>& baselines);

// The least of the baselines' times that decide; nullopt if none was timed.
std::optional<double> fastest_us(const std::vector<Baseline>& baselines, Objective objective);

// Best first by the time that decides; equal times in the order of the config texts, as in the
// database.
void rank(std::vector<Finisher>& finishers, Objective objective = Objective::hot);

// If the first of the ranked finishers is tied, puts first the one with the least product of time
// and cold time, of those at most 3 % slower: a small loss hot may spare much cold. It is tied
// then. now: of those in the finals. earlier: of stored ones, as in the database: those that are
// tied and whose twins are verified, or, of rows from version 3, the one with the least cold time
// of those that are tied and at most 0.5 % slower.
enum class Timed { now, earlier };
void prefer_cold_among_equals(std::vector<Finisher>& ranked, Timed timed);

// How many of the ranked finishers take part in the finals: those close to the best, within limits.
std::size_t finalists_among(const std::vector<Finisher>& ranked,
                            Objective objective = Objective::hot);

// The result of finals.
struct FinalsResult {
  std::vector<Finisher> finishers;     // best first
  std::vector<Finisher> disqualified;  // their twin was wrong; as stored
  std::vector<Finisher> passed_over;   // their error is above the limit
  std::vector<Baseline> baselines;     // timed in turn with the finalists
  std::vector<std::string> absent;     // why a baseline is not among them, a sentence each
  std::vector<std::string> others;     // other processes seen on the GPU
  bool complete = false;               // not interrupted: the standings are stored
};

using OnFinalsStage = std::function<void(const char* stage, const FinalsResult& so_far)>;

// Times the best of the finishers again in turn with the baselines, verifies the twins of the
// winner and of the best by hot and by cold times, and stores the standings. passed_over:
// candidates whose error was above the limit before; they take no part, but may be the best without
// it. judge_ties: whether the finishers are all known candidates of the problem, so that their best
// is the problem's best by hot times. rule: by which the best are chosen, with the errors that the
// finals measure on the same operands. tell: called with "finals" and "twins", and with the results
// so far. All times are of one GPU: where it is lost, the finals begin anew on another. An
// interrupt skips the rest.
FinalsResult hold_finals(Trials& trials, ProblemResults& results, const Problem& problem,
                         std::vector<Finisher> finishers, std::vector<Finisher> passed_over,
                         bool judge_ties, const WinnerRule& rule, const OnFinalsStage& tell);

// The result of an earlier run's finals, if they had the same candidates and the request's
// baselines. ranked: best first, at least one.
std::optional<FinalsResult> earlier_finals(const TuneRequest& request, const Plan& plan,
                                           std::vector<Finisher> ranked);

}  // namespace gemm_tune
