// SPDX-License-Identifier: Apache-2.0
// A Gaussian process over the points of a search space: what is likely where nothing was measured.
//
// Matern-5/2 on the places of values, one length scale per parameter (Rasmussen and Williams,
// "Gaussian Processes for Machine Learning", 2006, chapters 2, 4 and 5). The posterior of every
// scored point is kept up to date: one more observation costs time in proportion to scored points
// times observations. Hyperparameters change in fit() only. No GPU, clock, disk or global state;
// deterministic. Not thread-safe.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "search/space/search_space.h"

namespace gemm_tune {

class Surrogate {
 public:
  // Priors of the hyperparameters: mean and deviation of a logarithm, unless said otherwise.
  // docs/search.md says how each was chosen.
  struct Constants {
    double length = 0.25, length_spread = 0.5;  // of a length scale, 1 being a parameter's range
    double noise = -9.0, noise_spread = 2.0;    // of the noise's variance over the signal's
    // The signal's variance, without a logarithm, and how many observations this belief weighs.
    double scale = 0.25, scale_weight = 1.0;
  };

  // prior_mean: of each point, or empty for none; only differences count. The space must outlive
  // the surrogate.
  Surrogate(const SearchSpace& space, std::vector<double> prior_mean, const Constants& constants);

  // Forgets all observations and takes these, one at least, after choosing the hyperparameters that
  // they make most probable, from the present ones in so many steps at most; all must be known
  // where there are any steps. scored: the points whose posterior is kept.
  void fit(std::vector<std::size_t> observed, const std::vector<double>& values,
           std::vector<std::size_t> scored, int steps);

  // One more observation, its value yet unknown: taken for what is expected.
  void observe(std::size_t point);

  // The values of all observations in the order in which they came, NaN for one yet unknown.
  void set_values(const std::vector<double>& values);

  double prior_mean(std::size_t point) const { return prior_mean_[point]; }
  const std::vector<std::size_t>& scored() const { return scored_; }

  // Of the scored points, in their order; the variance is that of a value without noise.
  const Eigen::VectorXf& mean() const { return mean_; }
  const Eigen::VectorXf& variance() const { return variance_; }

  // Between some of the scored points, which are named by their places in scored().
  Eigen::MatrixXd covariance(std::span<const std::size_t> places) const;

  // The mean at any points, scored or not. Fastest where neighbours in the list differ in few
  // parameters.
  Eigen::VectorXf means(std::span<const std::size_t> points) const;

  // How far, as a share of a parameter's range, values are alike; of parameters with more than one
  // value.
  Eigen::VectorXd lengths() const { return hyper_.log_length.array().exp(); }

 private:
  // A row per point, a column per active parameter.
  using Places = Eigen::Matrix<SearchSpace::ValueIndex, Eigen::Dynamic, Eigen::Dynamic>;

  struct Hyper {
    Eigen::VectorXd log_length;
    double log_noise = 0;
  };

  double noise() const;
  double correlation(std::size_t a, std::size_t b) const;
  Places places_of(std::span<const std::size_t> points) const;
  Eigen::VectorXf correlations(const Places& places, std::size_t point) const;
  std::vector<std::size_t> by_changes(std::span<const std::size_t> points) const;
  Eigen::ArrayXXf squares_of_values(std::size_t active) const;
  std::vector<Eigen::MatrixXd> squared_distances(const std::vector<std::size_t>& points) const;
  double cost(const Hyper& hyper, const std::vector<Eigen::MatrixXd>& distances,
              const Eigen::VectorXd& residuals, Hyper& slope) const;
  void choose_hyper(const std::vector<double>& values, int steps);
  void update_variance();

  const SearchSpace& space_;
  const Constants constants_;
  std::vector<double> prior_mean_;
  std::vector<std::size_t> active_;  // parameters with more than one value
  Hyper hyper_;
  double scale_ = 1;   // the signal's variance
  double offset_ = 0;  // the mean's, from the prior's

  std::vector<std::size_t> observed_, scored_;
  Places scored_places_;
  Eigen::MatrixXd factor_;     // Cholesky's, of the observations' correlations: its lower triangle
  Eigen::VectorXd ones_;       // factor_^-1 1
  Eigen::VectorXd surprise_;   // factor_^-1 (values - what was expected)
  Eigen::MatrixXf reach_;      // (factor_^-1 K*)': a row per scored point, a column per observation
  Eigen::VectorXf explained_;  // share of a scored point's variance: the row's sum of squares
  Eigen::VectorXf mean_, variance_;
};

}  // namespace gemm_tune
