// A Gaussian process over the points of a search space: what is likely where nothing was measured.
//
// Matern-5/2 on the places of values, one length scale per parameter, partly of all parameters
// together and partly a sum of one-parameter terms, which few observations already tell apart. The
// posterior of every scored point is kept up to date: one more observation costs time in proportion
// to points times observations. Hyperparameters change in fit() only. Deterministic; not
// thread-safe.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "search/search_space.h"

namespace gemm_tune {

class Surrogate {
 public:
  // Textbook values; docs/search.md lists them with their reasons.
  struct Constants {
    // Log-normal priors of the hyperparameters, as mean and deviation of the logarithm. A length
    // scale is in units of a parameter's whole range.
    double length = 0.0, length_spread = 0.5;
    double noise = -9.0, noise_spread = 2.0;  // its variance over the signal's
    // Logarithms of the shares of one-parameter and of two-parameter terms over that of all
    // parameters together.
    double share = 0.0, share_spread = 1.0;
    double scale_weight = 1.0, scale = 0.25;  // signal variance: as if so many observations said so
  };

  // prior_mean: of each point, or empty for none; only differences count. The space must outlive
  // the surrogate.
  Surrogate(const SearchSpace& space, std::vector<double> prior_mean, const Constants& constants);

  // Forgets all observations and takes these, after choosing the hyperparameters that make them
  // most likely (a posteriori). scored: the points whose posterior is kept.
  void fit(std::vector<std::size_t> observed, const std::vector<double>& values,
           std::vector<std::size_t> scored, int iterations);

  // One more observation, its value yet unknown: taken for what the others predict.
  void observe(std::size_t point);

  // Values of all observations in the order in which they came; NaN for one yet unknown.
  void set_values(const std::vector<double>& values);

  std::size_t observations() const { return observed_.size(); }
  const std::vector<std::size_t>& scored() const { return scored_; }

  // Of scored points, in their order.
  const Eigen::VectorXf& mean() const { return mean_; }
  const Eigen::VectorXf& variance() const { return variance_; }

  struct Hyper {
    Eigen::VectorXd log_length;
    double log_noise = 0;
    Eigen::Vector2d log_share = Eigen::Vector2d::Zero();
  };
  const Hyper& hyper() const { return hyper_; }
  double scale() const { return scale_; }

 private:
  struct Kernel;

  double singles() const { return static_cast<double>(active_.size()); }
  double pairs() const { return std::max(1.0, singles() * (singles() - 1) / 2); }
  double correlation(std::size_t a, std::size_t b) const;
  Eigen::MatrixXd correlations(const std::vector<std::size_t>& points) const;
  Eigen::VectorXf column(std::size_t point) const;
  double climb(Hyper& hyper, const Eigen::VectorXd& residuals, Hyper* slope) const;
  void optimise(const Eigen::VectorXd& residuals, int iterations);

  const SearchSpace& space_;
  std::vector<double> prior_mean_;
  Constants constants_;
  std::vector<std::size_t> active_;  // parameters with more than one value
  Hyper hyper_;
  double scale_ = 1;  // variance of the signal
  double offset_ = 0;

  std::vector<std::size_t> observed_;
  std::vector<std::size_t> scored_;
  Eigen::MatrixXi scored_places_;  // a column per active parameter
  Eigen::MatrixXd factor_;         // Cholesky, of the correlations
  Eigen::VectorXd ones_;           // factor_^-1 1
  Eigen::MatrixXf reach_;          // factor_^-1 K*, transposed: a column per observation
  Eigen::VectorXf explained_;      // sum of squares of the columns
  Eigen::VectorXf mean_, variance_;
};

}  // namespace gemm_tune
