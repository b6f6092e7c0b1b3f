// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/posterior.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace gemm_tune {
namespace {

// Jones, Schonlau and Welch 1998, for a minimum.
double expected_improvement(double best, double mean, double variance) {
  const double deviation = std::sqrt(variance), gap = (best - mean) / deviation;
  const double density = 0.3989422804014327 * std::exp(-0.5 * gap * gap);
  const double share = 0.5 * std::erfc(-0.7071067811865476 * gap);
  return deviation * (gap * share + density);
}

// Half of them the first, the others evenly from the rest; all where there are no more.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& points, std::size_t count) {
  if (points.size() <= count) return points;
  const std::size_t first = count / 2, rest = count - first, left = points.size() - first;
  std::vector<std::size_t> kept(points.begin(),
                                points.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < rest; ++i) kept.push_back(points[first + i * left / rest]);
  return kept;
}

}  // namespace

Posterior::Posterior(const SearchSpace& space, std::vector<double> prior,
                     const ModelSearchConstants& constants)
    : constants_(constants),
      has_prior_(!prior.empty()),
      surrogate_(space, std::move(prior), constants.surrogate) {}

bool Posterior::wants_refit(const Results& results) const {
  if (observed_.empty()) return true;
  const std::size_t told = results.points.size();
  const double grown = constants_.refit_growth * static_cast<double>(fitted_at_);
  return told > fitted_at_ &&
         (static_cast<double>(told) >= grown || told >= fitted_at_ + constants_.most_observed / 4);
}

void Posterior::refit(const Results& results, std::vector<std::size_t> pool) {
  observed_ = thinned(results.best_first(), constants_.most_observed);
  if (observed_.empty()) observed_.push_back(results.pending.front());
  known_ = {observed_.begin(), observed_.end()};
  surrogate_.fit(observed_, values(results), std::move(pool),
                 results.none_valid() ? 0 : constants_.refit_iterations);
  fitted_at_ = followed_ = results.points.size();
  add(results.pending);
}

void Posterior::follow(const Results& results) {
  const bool news = followed_ != results.points.size();
  add(std::span(results.points).subspan(followed_));
  followed_ = results.points.size();
  add(results.pending);
  if (news) surrogate_.set_values(values(results));
}

std::vector<std::size_t> Posterior::most_promising(const Results& results, const Untried& untried,
                                                   std::size_t count) const {
  const double best = best_expected(results);
  std::vector<std::pair<double, std::size_t>> gains;  // the most, with the place in scored()
  gains.reserve(surrogate_.scored().size());
  for (std::size_t i = 0; i < surrogate_.scored().size(); ++i) {
    if (!untried.contains(surrogate_.scored()[i])) continue;
    const auto at = static_cast<Eigen::Index>(i);
    gains.emplace_back(
        -expected_improvement(best, surrogate_.mean()[at], surrogate_.variance()[at]), i);
  }
  const auto end = gains.begin() + static_cast<std::ptrdiff_t>(std::min(count, gains.size()));
  std::partial_sort(gains.begin(), end, gains.end());
  std::vector<std::size_t> places;
  for (auto gain = gains.begin(); gain != end; ++gain) places.push_back(gain->second);
  return places;
}

double Posterior::expected_gain(const Results& results, std::span<const std::size_t> places) const {
  constexpr int kDraws = 256;
  const auto count = static_cast<Eigen::Index>(places.size());
  Eigen::MatrixXd covariance = surrogate_.covariance(places);
  covariance.diagonal().array() += 1e-4 * covariance.diagonal().maxCoeff();  // float's rounding
  Eigen::LLT<Eigen::MatrixXd> cholesky(covariance);
  for (double more = 1e-3; cholesky.info() != Eigen::Success && more < 1; more *= 10) {
    const double added = more * covariance.diagonal().maxCoeff();
    cholesky.compute(covariance + added * Eigen::MatrixXd::Identity(count, count));
  }
  const Eigen::MatrixXd factor = cholesky.matrixL();
  Eigen::VectorXd mean(count), drawn(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    mean[i] = surrogate_.mean()[static_cast<Eigen::Index>(places[static_cast<std::size_t>(i)])];
  }
  const double best = best_expected(results);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    for (double& one : drawn) one = normal(random);
    sum += std::max(0.0, best - (mean + factor * drawn).minCoeff());
  }
  return sum / kDraws;
}

double Posterior::promise(const Results& results, std::size_t place) const {
  const auto at = static_cast<Eigen::Index>(place);
  return expected_improvement(best_expected(results), surrogate_.mean()[at],
                              surrogate_.variance()[at]);
}

double Posterior::best_expected(const Results& results) const {
  double best = results.best;
  if (!results.pending.empty()) {
    best = std::min(best, double{surrogate_.means(results.pending).minCoeff()});
  }
  if (std::isfinite(best) || surrogate_.scored().empty()) return best;
  return surrogate_.mean().minCoeff();  // nothing has come out yet: what is expected of the best
}

void Posterior::add(std::span<const std::size_t> points) {
  for (const std::size_t point : points) {
    if (!known_.insert(point).second) continue;
    observed_.push_back(point);
    surrogate_.observe(point);
  }
}

// NaN stays NaN.
std::vector<double> Posterior::values(const Results& results) const {
  std::vector<double> all;
  for (const std::size_t point : observed_) all.push_back(results.value_of(point));
  if (results.none_valid()) return all;
  if (has_prior_) {
    squeeze_errors(all, results.best);
  } else if (const double c = constants_.squeeze; c > 0) {
    for (double& value : all) value = results.best + c * std::log1p((value - results.best) / c);
  }
  return all;
}

// Of slow results, how far off the prior was, from what it was off in the middle.
void Posterior::squeeze_errors(std::vector<double>& values, double best) const {
  const auto error = [&](std::size_t i) { return values[i] - surrogate_.prior_mean(observed_[i]); };
  std::vector<double> errors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) errors.push_back(error(i));
  }
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  const double c = constants_.prior_squeeze;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > best + c)) continue;
    const double off = error(i) - *middle;
    const double seen = std::copysign(c * std::log1p(std::abs(off) / c), off);
    values[i] = std::max(best + c, values[i] + seen - off);
  }
}

}  // namespace gemm_tune
