// SPDX-License-Identifier: Apache-2.0
// What a model search expects of the points of its space by the results so far: a surrogate that is
// kept up to date with them.
//
// What is under way counts as if it came out as expected. A place is an index into
// surrogate().scored(). Deterministic. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/model_strategy.h"
#include "search/strategy/results.h"
#include "search/strategy/surrogate.h"
#include "search/strategy/untried.h"

namespace gemm_tune {

class Posterior {
 public:
  // prior: the expected log time of each point, or empty for none. The space must outlive it.
  Posterior(const SearchSpace& space, std::vector<double> prior,
            const ModelSearchConstants& constants);

  // Whether there are so many more results than at the latest refit().
  bool wants_refit(const Results& results) const;

  // Fits the surrogate to the results anew. pool: the points to score from then on.
  void refit(const Results& results, std::vector<std::size_t> pool);

  // Takes in what has changed since.
  void follow(const Results& results);

  // The places of the untried points with the greatest expected improvement, best first.
  std::vector<std::size_t> most_promising(const Results& results, const Untried& untried,
                                          std::size_t count) const;

  // By how much the least of these points is expected to lie below the best result: the mean over
  // draws from their joint posterior.
  double expected_gain(const Results& results, std::span<const std::size_t> places) const;

  // The expected improvement of one point.
  double promise(const Results& results, std::size_t place) const;

  const Surrogate& surrogate() const { return surrogate_; }

 private:
  double best_expected(const Results& results) const;
  void add(std::span<const std::size_t> points);
  std::vector<double> values(const Results& results) const;
  void squeeze_errors(std::vector<double>& values, double best) const;

  const ModelSearchConstants constants_;
  const bool has_prior_;
  Surrogate surrogate_;
  std::vector<std::size_t> observed_;  // in the surrogate's order
  std::unordered_set<std::size_t> known_;
  std::size_t fitted_at_ = 0, followed_ = 0;  // results then
};

}  // namespace gemm_tune
