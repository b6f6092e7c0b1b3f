// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/surrogate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace gemm_tune {
namespace {

// By squared distance in units of the length scale.
double matern(double squared) {
  const double r = std::sqrt(5 * squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}

// Hyperparameters are chosen by so many observations at most, taken evenly: it takes time in
// proportion to their cube.
constexpr std::size_t kMostFitted = 128;

constexpr Eigen::Index kSpareColumns = 64;  // room for observations until the next fit

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace

Surrogate::Surrogate(const SearchSpace& space, std::vector<double> prior_mean,
                     const Constants& constants)
    : space_(space), constants_(constants), prior_mean_(std::move(prior_mean)) {
  if (prior_mean_.empty()) prior_mean_.assign(space.size(), 0.0);
  for (std::size_t i = 0; i < space.params().size(); ++i) {
    if (space.params()[i].values.size() > 1) active_.push_back(i);
  }
  hyper_.log_length = Eigen::VectorXd::Constant(index(active_.size()), constants_.length);
  hyper_.log_noise = constants_.noise;
}

double Surrogate::noise() const { return std::exp(hyper_.log_noise); }

double Surrogate::correlation(std::size_t a, std::size_t b) const {
  double squared = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double range = static_cast<double>(space_.params()[active_[i]].values.size() - 1);
    const double steps = static_cast<double>(space_.at(a)[active_[i]]) - space_.at(b)[active_[i]];
    const double distance = steps / range / std::exp(hyper_.log_length[index(i)]);
    squared += distance * distance;
  }
  return matern(squared);
}

Surrogate::Places Surrogate::places_of(std::span<const std::size_t> points) const {
  Places places(index(points.size()), index(active_.size()));
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (std::size_t i = 0; i < active_.size(); ++i) {
      places(index(p), index(i)) = space_.at(points[p])[active_[i]];
    }
  }
  return places;
}

// Of the points at these places with one point.
Eigen::VectorXf Surrogate::correlations(const Places& places, std::size_t point) const {
  const Eigen::Index points = places.rows();
  Eigen::ArrayXf squared = Eigen::ArrayXf::Zero(points);
  std::vector<float> square_of;  // by value
  for (std::size_t i = 0; i < active_.size(); ++i) {
    square_of.resize(space_.params()[active_[i]].values.size());
    const double range = static_cast<double>(square_of.size() - 1);
    for (std::size_t value = 0; value < square_of.size(); ++value) {
      const double steps = static_cast<double>(value) - space_.at(point)[active_[i]];
      const double distance = steps / range / std::exp(hyper_.log_length[index(i)]);
      square_of[value] = static_cast<float>(distance * distance);
    }
    const SearchSpace::ValueIndex* place = places.col(index(i)).data();
    for (Eigen::Index p = 0; p < points; ++p) squared[p] += square_of[place[p]];
  }
  const Eigen::ArrayXf r = (5 * squared).sqrt();
  return (1 + r + r.square() / 3) * (-r).exp();
}

// Between points, along each parameter.
std::vector<Eigen::MatrixXd> Surrogate::squared_distances(
    const std::vector<std::size_t>& points) const {
  std::vector<Eigen::MatrixXd> all;
  const Eigen::Index n = index(points.size());
  for (const std::size_t param : active_) {
    const double range = static_cast<double>(space_.params()[param].values.size() - 1);
    Eigen::VectorXd x(n);
    for (std::size_t i = 0; i < points.size(); ++i) {
      x[index(i)] = space_.at(points[i])[param] / range;
    }
    all.push_back((x.replicate(1, n) - x.transpose().replicate(n, 1)).array().square());
  }
  return all;
}

// The negative logarithm of the hyperparameters' posterior density, but for a constant, and its
// slope. The offset is the most likely one, the scale's inverse-gamma prior is integrated into it.
double Surrogate::cost(const Hyper& hyper, const std::vector<Eigen::MatrixXd>& distances,
                       const Eigen::VectorXd& residuals, Hyper& slope) const {
  const Eigen::Index n = residuals.size();
  const Eigen::ArrayXd shrink = (-2 * hyper.log_length.array()).exp();
  Eigen::MatrixXd squared = Eigen::MatrixXd::Zero(n, n);
  for (std::size_t i = 0; i < distances.size(); ++i) squared += shrink[index(i)] * distances[i];
  const Eigen::ArrayXXd r = (5 * squared.array()).sqrt(), decay = (-r).exp();
  Eigen::MatrixXd correlations = (1 + r + r.square() / 3) * decay;
  correlations.diagonal().array() += std::exp(hyper.log_noise);
  const Eigen::LLT<Eigen::MatrixXd> llt(correlations);
  if (llt.info() != Eigen::Success) return std::numeric_limits<double>::infinity();

  const Eigen::VectorXd row_sums = llt.solve(Eigen::VectorXd::Ones(n));
  const double offset = residuals.dot(row_sums) / row_sums.sum();
  const Eigen::VectorXd centred = residuals.array() - offset;
  const Eigen::VectorXd weights = llt.solve(centred);
  const double count = static_cast<double>(n) + constants_.scale_weight;
  const double scale = (centred.dot(weights) + constants_.scale_weight * constants_.scale) / count;
  double cost = 0.5 * count * std::log(scale) + llt.matrixLLT().diagonal().array().log().sum();

  // The slope is half the trace of this matrix times the correlations' derivative.
  const Eigen::MatrixXd pull =
      llt.solve(Eigen::MatrixXd::Identity(n, n)) - weights * weights.transpose() / scale;
  const Eigen::MatrixXd bend = -5.0 / 6 * (1 + r) * decay * pull.array();
  slope.log_length.resize(hyper.log_length.size());
  for (std::size_t i = 0; i < distances.size(); ++i) {
    slope.log_length[index(i)] = -shrink[index(i)] * bend.cwiseProduct(distances[i]).sum();
  }
  slope.log_noise = 0.5 * std::exp(hyper.log_noise) * pull.trace();

  const auto believe = [&cost](double value, double mean, double spread, double& its_slope) {
    const double off = (value - mean) / spread;
    cost += 0.5 * off * off;
    its_slope += off / spread;
  };
  for (Eigen::Index i = 0; i < hyper.log_length.size(); ++i) {
    believe(hyper.log_length[i], constants_.length, constants_.length_spread, slope.log_length[i]);
  }
  believe(hyper.log_noise, constants_.noise, constants_.noise_spread, slope.log_noise);
  return cost;
}

// Resilient backpropagation (Riedmiller and Braun 1993): it needs no line search, and a Gaussian
// process's likelihood suits it (Blum and Riedmiller 2013).
void Surrogate::choose_hyper(const std::vector<double>& values, int steps) {
  constexpr double kFirst = 0.2, kLeast = 1e-3, kMost = 1.0, kGrow = 1.2, kShrink = 0.5;
  // Less noise than this and float arithmetic would add its own.
  constexpr double kLowest = -12, kHighest = 5;
  const std::size_t count = std::min(observed_.size(), kMostFitted);
  std::vector<std::size_t> points;
  Eigen::VectorXd residuals(index(count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * observed_.size() / count;
    points.push_back(observed_[at]);
    residuals[index(i)] = values[at] - prior_mean_[points.back()];
  }
  const std::vector<Eigen::MatrixXd> distances = squared_distances(points);
  const Eigen::Index last = hyper_.log_length.size();
  const auto pack = [&](const Hyper& hyper) {
    Eigen::VectorXd all(last + 1);
    all << hyper.log_length, hyper.log_noise;
    return all;
  };
  Eigen::VectorXd at = pack(hyper_), best = at;
  Eigen::VectorXd step = Eigen::VectorXd::Constant(last + 1, kFirst);
  Eigen::VectorXd slope_before = Eigen::VectorXd::Zero(last + 1);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < steps; ++i) {
    Hyper slope_here;
    const double here = cost({at.head(last), at[last]}, distances, residuals, slope_here);
    if (!std::isfinite(here)) break;
    if (here < least) {
      least = here;
      best = at;
    }
    const Eigen::VectorXd slope = pack(slope_here);
    for (Eigen::Index j = 0; j <= last; ++j) {
      const bool turned = slope[j] * slope_before[j] < 0;
      if (turned) step[j] = std::max(kShrink * step[j], kLeast);
      if (slope[j] * slope_before[j] > 0) step[j] = std::min(kGrow * step[j], kMost);
      slope_before[j] = turned ? 0 : slope[j];
      if (slope_before[j] == 0) continue;
      at[j] = std::clamp(at[j] - std::copysign(step[j], slope[j]), kLowest, kHighest);
    }
  }
  hyper_ = {best.head(last), best[last]};
}

void Surrogate::fit(std::vector<std::size_t> observed, const std::vector<double>& values,
                    std::vector<std::size_t> scored, int steps) {
  observed_ = std::move(observed);
  const Eigen::Index n = index(observed_.size());
  if (n > 1 && steps > 0) choose_hyper(values, steps);

  scored_ = std::move(scored);
  scored_places_ = places_of(scored_);
  factor_.resize(n, n);
  for (std::size_t i = 0; i < observed_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      factor_(index(i), index(j)) = correlation(observed_[i], observed_[j]);
    }
    factor_(index(i), index(i)) = 1 + noise();
  }
  factor_ = factor_.selfadjointView<Eigen::Lower>().llt().matrixL();
  ones_ = factor_.triangularView<Eigen::Lower>().solve(Eigen::VectorXd::Ones(n));
  reach_.resize(index(scored_.size()), n + kSpareColumns);
  for (std::size_t i = 0; i < observed_.size(); ++i) {
    reach_.col(index(i)) = correlations(scored_places_, observed_[i]);
  }
  if (!scored_.empty()) {  // Eigen makes references into empty matrices
    const Eigen::MatrixXf factor = factor_.cast<float>();
    factor.transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(
        reach_.leftCols(n));
  }
  explained_ = reach_.leftCols(n).rowwise().squaredNorm();
  set_values(values);
}

void Surrogate::observe(std::size_t point) {
  const Eigen::Index n = index(observed_.size());
  Eigen::VectorXd row(n);
  for (std::size_t i = 0; i < observed_.size(); ++i)
    row[index(i)] = correlation(point, observed_[i]);
  factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  // Rounding may not leave less than the noise.
  const double diagonal = std::sqrt(std::max(1 + noise() - row.squaredNorm(), 0.5 * noise()));
  if (n == factor_.rows()) factor_.conservativeResize(n + kSpareColumns, n + kSpareColumns);
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = diagonal;
  ones_.conservativeResize(n + 1);
  ones_[n] = (1 - row.dot(ones_.head(n))) / diagonal;

  if (n == reach_.cols()) reach_.conservativeResize(Eigen::NoChange, n + kSpareColumns);
  Eigen::VectorXf column = correlations(scored_places_, point);
  column.noalias() -= reach_.leftCols(n) * row.cast<float>().eval();
  reach_.col(n) = column / static_cast<float>(diagonal);
  explained_ += reach_.col(n).cwiseAbs2();
  surprise_.conservativeResize(n + 1);
  surprise_[n] = 0;
  observed_.push_back(point);
  update_variance();
}

void Surrogate::set_values(const std::vector<double>& values) {
  const Eigen::Index n = index(observed_.size());
  // factor_^-1 (values - offset), 0 for what is unknown: that is what "as expected" means. Its
  // offset is the one before, which the second round sets right.
  Eigen::VectorXd whitened(n);
  surprise_.resize(n);
  for (int round = 0; round < 2; ++round) {
    double up = 0, down = 0, known = 0;
    for (std::size_t i = 0; i < observed_.size(); ++i) {
      const Eigen::Index at = index(i);
      if (std::isnan(values[i])) {
        whitened[at] = offset_ * ones_[at];
        continue;
      }
      const double residual = values[i] - prior_mean_[observed_[i]];
      whitened[at] = (residual - factor_.row(at).head(at).dot(whitened.head(at))) / factor_(at, at);
      up += ones_[at] * whitened[at];
      down += ones_[at] * ones_[at];
      ++known;
    }
    if (down > 0) offset_ = up / down;
    for (Eigen::Index at = 0; at < n; ++at) {
      surprise_[at] =
          std::isnan(values[static_cast<std::size_t>(at)]) ? 0 : whitened[at] - offset_ * ones_[at];
    }
    scale_ = (surprise_.squaredNorm() + constants_.scale_weight * constants_.scale) /
             (known + constants_.scale_weight);
  }
  mean_ = reach_.leftCols(n) * surprise_.cast<float>().eval();
  for (std::size_t p = 0; p < scored_.size(); ++p) {
    mean_[index(p)] += static_cast<float>(offset_ + prior_mean_[scored_[p]]);
  }
  update_variance();
}

// The parameters in which points of a list differ least often from the one before come first: the
// sums over the first parameters then serve many points in turn.
std::vector<std::size_t> Surrogate::by_changes(std::span<const std::size_t> points) const {
  std::vector<std::size_t> order(active_.size()), changes(active_.size(), 0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t p = 1; p < points.size(); ++p) {
    const auto here = space_.at(points[p]), before = space_.at(points[p - 1]);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      changes[i] += here[active_[i]] != before[active_[i]] ? 1 : 0;
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return changes[a] < changes[b]; });
  return order;
}

// A row per observation, a column per value of the active parameter: the squared distance along it.
Eigen::ArrayXXf Surrogate::squares_of_values(std::size_t active) const {
  const std::size_t param = active_[active], values = space_.params()[param].values.size();
  const double range = static_cast<double>(values - 1);
  const double scale = 1 / range / std::exp(hyper_.log_length[index(active)]);
  Eigen::ArrayXXf squares(index(observed_.size()), index(values));
  for (std::size_t value = 0; value < values; ++value) {
    for (std::size_t i = 0; i < observed_.size(); ++i) {
      const double steps = static_cast<double>(value) - space_.at(observed_[i])[param];
      squares(index(i), index(value)) = static_cast<float>(steps * scale * (steps * scale));
    }
  }
  return squares;
}

Eigen::VectorXf Surrogate::means(std::span<const std::size_t> points) const {
  const Eigen::Index n = index(observed_.size());
  const Eigen::VectorXd exact_weights =
      factor_.topLeftCorner(n, n).transpose().triangularView<Eigen::Upper>().solve(surprise_);
  const Eigen::ArrayXf weights = exact_weights.cast<float>();
  const std::vector<std::size_t> order = by_changes(points);
  std::vector<Eigen::ArrayXXf> squares;
  for (const std::size_t active : order) squares.push_back(squares_of_values(active));
  // Squared distances from the observations along the first parameters, a column for each number
  // of them.
  Eigen::ArrayXXf sums = Eigen::ArrayXXf::Zero(n, index(order.size()) + 1);
  Eigen::VectorXf means(index(points.size()));
  Eigen::ArrayXf r(n);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const auto here = space_.at(points[p]);
    std::size_t same = 0;
    if (p > 0) {
      const auto before = space_.at(points[p - 1]);
      while (same < order.size() && here[active_[order[same]]] == before[active_[order[same]]]) {
        ++same;
      }
    }
    for (std::size_t i = same; i < order.size(); ++i) {
      sums.col(index(i) + 1) = sums.col(index(i)) + squares[i].col(here[active_[order[i]]]);
    }
    r = (5 * sums.col(index(order.size()))).sqrt();
    const float mean = (weights * (1 + r + r.square() / 3) * (-r).exp()).sum();
    means[index(p)] = mean + static_cast<float>(offset_ + prior_mean_[points[p]]);
  }
  return means;
}

Eigen::MatrixXd Surrogate::covariance(std::span<const std::size_t> places) const {
  const Eigen::Index n = index(observed_.size()), count = index(places.size());
  Eigen::MatrixXf rows(count, n);
  for (Eigen::Index i = 0; i < count; ++i) {
    rows.row(i) = reach_.row(index(places[static_cast<std::size_t>(i)])).head(n);
  }
  Eigen::MatrixXd shared = (-rows * rows.transpose()).cast<double>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < places.size(); ++j) {
      shared(index(i), index(j)) += correlation(scored_[places[i]], scored_[places[j]]);
    }
  }
  return scale_ * shared;
}

void Surrogate::update_variance() {
  constexpr float kLeast = 1e-6f;  // of the signal's: what float arithmetic resolves
  variance_ = static_cast<float>(scale_) * (1 - explained_.array()).max(kLeast);
}

}  // namespace gemm_tune
