#include "search/surrogate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace gemm_tune {
namespace {

constexpr double kSqrt5 = 2.23606797749979;
constexpr float kLeastVariance = 1e-6f;

template <class Number>
Number matern(Number squared) {
  const Number r = Number(kSqrt5) * std::sqrt(squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}

// Its derivative by the squared distance.
double matern_slope(double squared) {
  const double r = kSqrt5 * std::sqrt(squared);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

// Of terms of one, of two and of all parameters, from the first two's logarithms over the third.
struct Shares {
  double one, two, all;

  explicit Shares(const Eigen::Vector2d& logs) {
    const double a = std::exp(logs[0]), b = std::exp(logs[1]);
    one = a / (1 + a + b);
    two = b / (1 + a + b);
    all = 1 / (1 + a + b);
  }
};

}  // namespace

Surrogate::Surrogate(const SearchSpace& space, std::vector<double> prior_mean,
                     const Constants& constants)
    : space_(space), prior_mean_(std::move(prior_mean)), constants_(constants) {
  if (prior_mean_.empty()) prior_mean_.assign(space.size(), 0.0);
  for (std::size_t i = 0; i < space.params().size(); ++i) {
    if (space.params()[i].values.size() > 1) active_.push_back(i);
  }
  hyper_.log_length =
      Eigen::VectorXd::Constant(static_cast<Eigen::Index>(active_.size()), constants_.length);
  hyper_.log_noise = constants_.noise;
  hyper_.log_share.setConstant(constants_.share);
}

// Distances along one parameter, in units of its range.
static double distance(const SearchSpace& space, std::size_t param, std::size_t a, std::size_t b) {
  return (static_cast<double>(space.at(a)[param]) - space.at(b)[param]) /
         static_cast<double>(space.params()[param].values.size() - 1);
}

double Surrogate::correlation(std::size_t a, std::size_t b) const {
  double squared = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double d = distance(space_, active_[i], a, b) /
                     std::exp(hyper_.log_length[static_cast<Eigen::Index>(i)]);
    const double term = matern(d * d);
    squared += d * d;
    sum += term;
    squares += term * term;
  }
  const Shares share(hyper_.log_share);
  return share.one * sum / singles() + share.two * (sum * sum - squares) / 2 / pairs() +
         share.all * matern(squared);
}

Eigen::MatrixXd Surrogate::correlations(const std::vector<std::size_t>& points) const {
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd all(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    all(i, i) = 1 + std::exp(hyper_.log_noise);
    for (Eigen::Index j = 0; j < i; ++j) {
      all(i, j) = all(j, i) = correlation(points[static_cast<std::size_t>(i)],
                                          points[static_cast<std::size_t>(j)]);
    }
  }
  return all;
}

// The correlations of a point with all scored ones.
Eigen::VectorXf Surrogate::column(std::size_t point) const {
  const auto points = static_cast<Eigen::Index>(scored_.size());
  Eigen::ArrayXf squared = Eigen::ArrayXf::Zero(points), sum = Eigen::ArrayXf::Zero(points);
  Eigen::ArrayXf squares = Eigen::ArrayXf::Zero(points);
  std::vector<float> square_of, term_of;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const std::size_t values = space_.params()[active_[i]].values.size();
    const double length = std::exp(hyper_.log_length[static_cast<Eigen::Index>(i)]);
    square_of.resize(values);
    term_of.resize(values);
    for (std::size_t value = 0; value < values; ++value) {
      const double d = (static_cast<double>(value) - space_.at(point)[active_[i]]) /
                       static_cast<double>(values - 1) / length;
      square_of[value] = static_cast<float>(d * d);
      term_of[value] = static_cast<float>(matern(d * d));
    }
    const int* places = scored_places_.col(static_cast<Eigen::Index>(i)).data();
    for (Eigen::Index p = 0; p < points; ++p) {
      const auto place = static_cast<std::size_t>(places[p]);
      squared[p] += square_of[place];
      sum[p] += term_of[place];
      squares[p] += term_of[place] * term_of[place];
    }
  }
  const Shares share(hyper_.log_share);
  const Eigen::ArrayXf r = (squared * 5).sqrt();
  return static_cast<float>(share.one / singles()) * sum +
         static_cast<float>(share.two / 2 / pairs()) * (sum.square() - squares) +
         static_cast<float>(share.all) * (1 + r + r.square() / 3) * (-r).exp();
}

// The negative logarithm of the posterior of hyperparameters, and its slope.
double Surrogate::climb(Hyper& hyper, const Eigen::VectorXd& residuals, Hyper* slope) const {
  const auto n = static_cast<Eigen::Index>(observed_.size());
  const auto params = static_cast<Eigen::Index>(active_.size());
  const Shares share(hyper.log_share);
  const double noise = std::exp(hyper.log_noise);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(n, n);
  Eigen::MatrixXd squared = Eigen::MatrixXd::Zero(n, n);
  Eigen::MatrixXd sum_of_squares = Eigen::MatrixXd::Zero(n, n);
  std::vector<Eigen::MatrixXd> squares, terms;
  for (Eigen::Index i = 0; i < params; ++i) {
    const std::size_t param = active_[static_cast<std::size_t>(i)];
    const double range = static_cast<double>(space_.params()[param].values.size() - 1);
    Eigen::VectorXd x(n);
    for (Eigen::Index a = 0; a < n; ++a) {
      x[a] = space_.at(observed_[static_cast<std::size_t>(a)])[param] / range;
    }
    x /= std::exp(hyper.log_length[i]);
    squares.push_back((x.replicate(1, n) - x.transpose().replicate(n, 1)).array().square());
    squared += squares.back();
    terms.push_back(squares.back().unaryExpr([](double d) { return matern(d); }));
    sum += terms.back();
    sum_of_squares += terms.back().cwiseAbs2();
  }
  const Eigen::MatrixXd one = sum / singles();
  const Eigen::MatrixXd two = (sum.cwiseAbs2() - sum_of_squares) / 2 / pairs();
  const Eigen::MatrixXd together = squared.unaryExpr([](double d) { return matern(d); });
  Eigen::MatrixXd all = share.one * one + share.two * two + share.all * together;
  all.diagonal().array() += noise;
  const Eigen::LLT<Eigen::MatrixXd> llt(all);
  if (llt.info() != Eigen::Success) return INFINITY;
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  const Eigen::VectorXd inverse_ones = llt.solve(ones);
  const double offset = residuals.dot(inverse_ones) / ones.dot(inverse_ones);
  const Eigen::VectorXd centred = residuals.array() - offset;
  const Eigen::VectorXd alpha = llt.solve(centred);
  const double weight = static_cast<double>(n) + constants_.scale_weight;
  const double scale =
      (centred.dot(alpha) + constants_.scale_weight * constants_.scale) / weight;
  double value = 0.5 * weight * std::log(scale) +
                 llt.matrixLLT().diagonal().array().log().sum();
  const auto prior = [&](double x, double mean, double spread, double* d) {
    value += 0.5 * (x - mean) * (x - mean) / (spread * spread);
    if (d) *d += (x - mean) / (spread * spread);
  };
  if (slope) {
    // d value = 1/2 tr(W dR), W = R^-1 - alpha alpha' / scale.
    const Eigen::MatrixXd w =
        llt.solve(Eigen::MatrixXd::Identity(n, n)) - alpha * alpha.transpose() / scale;
    const Eigen::MatrixXd bent =
        squared.unaryExpr([](double d) { return matern_slope(d); }).cwiseProduct(w) * share.all;
    slope->log_length.resize(params);
    for (Eigen::Index i = 0; i < params; ++i) {
      const auto at = static_cast<std::size_t>(i);
      // Of each pair of points, how much a term weighs.
      const Eigen::MatrixXd weight =
          ((sum - terms[at]) * (share.two / pairs())).array() + share.one / singles();
      const double alone = squares[at]
                               .unaryExpr([](double x) { return matern_slope(x) * x; })
                               .cwiseProduct(weight)
                               .cwiseProduct(w)
                               .sum();
      slope->log_length[i] = -(bent.cwiseProduct(squares[at]).sum() + alone);
    }
    slope->log_noise = 0.5 * noise * w.trace();
    const Eigen::MatrixXd mixture = share.one * one + share.two * two + share.all * together;
    slope->log_share[0] = 0.5 * share.one * w.cwiseProduct(one - mixture).sum();
    slope->log_share[1] = 0.5 * share.two * w.cwiseProduct(two - mixture).sum();
  }
  for (Eigen::Index i = 0; i < params; ++i) {
    prior(hyper.log_length[i], constants_.length, constants_.length_spread,
          slope ? &slope->log_length[i] : nullptr);
  }
  prior(hyper.log_noise, constants_.noise, constants_.noise_spread,
        slope ? &slope->log_noise : nullptr);
  for (Eigen::Index i = 0; i < 2; ++i) {
    prior(hyper.log_share[i], constants_.share, constants_.share_spread,
          slope ? &slope->log_share[i] : nullptr);
  }
  return value;
}

// Resilient backpropagation (Riedmiller and Braun 1993): robust, and few evaluations.
void Surrogate::optimise(const Eigen::VectorXd& residuals, int iterations) {
  const auto params = static_cast<Eigen::Index>(active_.size());
  const auto pack = [&](const Hyper& h) {
    Eigen::VectorXd x(params + 3);
    x << h.log_length, h.log_noise, h.log_share;
    return x;
  };
  const auto unpack = [&](const Eigen::VectorXd& x) {
    return Hyper{x.head(params), x[params], x.tail(2)};
  };
  Eigen::VectorXd x = pack(hyper_), step = Eigen::VectorXd::Constant(params + 3, 0.2);
  Eigen::VectorXd last = Eigen::VectorXd::Zero(params + 3), best = x;
  double least = INFINITY;
  for (int i = 0; i < iterations; ++i) {
    Hyper hyper = unpack(x), slope;
    const double value = climb(hyper, residuals, &slope);
    if (!std::isfinite(value)) break;
    if (value < least) {
      least = value;
      best = x;
    }
    const Eigen::VectorXd now = pack(slope);
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      const double turn = now[j] * last[j];
      if (turn > 0) step[j] = std::min(1.2 * step[j], 1.0);
      if (turn < 0) step[j] = std::max(0.5 * step[j], 1e-3);
      last[j] = turn < 0 ? 0 : now[j];
      if (last[j] != 0) x[j] = std::clamp(x[j] - std::copysign(step[j], now[j]), -14.0, 5.0);
    }
  }
  hyper_ = unpack(best);
}

void Surrogate::fit(std::vector<std::size_t> observed, const std::vector<double>& values,
                    std::vector<std::size_t> scored, int iterations) {
  observed_ = std::move(observed);
  const auto n = static_cast<Eigen::Index>(observed_.size());
  Eigen::VectorXd residuals(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    residuals[i] = values[at] - prior_mean_[observed_[at]];
  }
  if (iterations > 0 && n > 1) optimise(residuals, iterations);

  scored_ = std::move(scored);
  const auto points = static_cast<Eigen::Index>(scored_.size());
  scored_places_.resize(points, static_cast<Eigen::Index>(active_.size()));
  for (Eigen::Index p = 0; p < points; ++p) {
    for (std::size_t i = 0; i < active_.size(); ++i) {
      scored_places_(p, static_cast<Eigen::Index>(i)) =
          space_.at(scored_[static_cast<std::size_t>(p)])[active_[i]];
    }
  }
  Eigen::MatrixXd all = correlations(observed_);
  const Eigen::LLT<Eigen::MatrixXd> llt(all);
  factor_ = llt.matrixL();
  ones_ = llt.matrixL().solve(Eigen::VectorXd::Ones(n));
  reach_.resize(points, n + 64);
  for (Eigen::Index i = 0; i < n; ++i) {
    reach_.col(i) = column(observed_[static_cast<std::size_t>(i)]);
  }
  const Eigen::MatrixXf factor = factor_.cast<float>();
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(
      reach_.leftCols(n));
  explained_ = reach_.leftCols(n).rowwise().squaredNorm();
  set_values(values);
}

void Surrogate::observe(std::size_t point) {
  const auto n = static_cast<Eigen::Index>(observed_.size());
  if (n == factor_.rows()) factor_.conservativeResize(n + 64, n + 64);
  Eigen::VectorXd row(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    row[i] = correlation(point, observed_[static_cast<std::size_t>(i)]);
  }
  factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  const double rest = std::max(1 + std::exp(hyper_.log_noise) - row.squaredNorm(),
                               0.1 * std::exp(hyper_.log_noise));
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = std::sqrt(rest);
  ones_.conservativeResize(n + 1);
  ones_[n] = (1 - row.dot(ones_.head(n))) / factor_(n, n);
  if (n == reach_.cols()) reach_.conservativeResize(reach_.rows(), n + 64);
  const Eigen::VectorXf row_f = row.cast<float>();
  reach_.col(n) = (column(point) - reach_.leftCols(n) * row_f) /
                  static_cast<float>(factor_(n, n));
  explained_ += reach_.col(n).cwiseAbs2();
  variance_ = (static_cast<float>(scale_) * (1 - explained_.array()).max(kLeastVariance)).matrix();
  observed_.push_back(point);
}

void Surrogate::set_values(const std::vector<double>& values) {
  const auto n = static_cast<Eigen::Index>(observed_.size());
  // Twice, because a value taken for what is expected depends on the offset, and that on the others.
  Eigen::VectorXd solved(n), innovation(n);
  for (int pass = 0; pass < 2; ++pass) {
    double up = 0, down = 0, squares = 0;
    int known = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (std::isnan(values[at])) {
        solved[i] = offset_ * ones_[i];
        continue;
      }
      const double residual = values[at] - prior_mean_[observed_[at]];
      solved[i] = (residual - factor_.row(i).head(i).dot(solved.head(i))) / factor_(i, i);
      up += ones_[i] * solved[i];
      down += ones_[i] * ones_[i];
      ++known;
    }
    if (down > 0) offset_ = up / down;
    for (Eigen::Index i = 0; i < n; ++i) {
      innovation[i] =
          std::isnan(values[static_cast<std::size_t>(i)]) ? 0 : solved[i] - offset_ * ones_[i];
      squares += innovation[i] * innovation[i];
    }
    scale_ = (squares + constants_.scale_weight * constants_.scale) /
             (known + constants_.scale_weight);
  }
  mean_ = reach_.leftCols(n) * innovation.cast<float>();
  for (Eigen::Index p = 0; p < mean_.size(); ++p) {
    mean_[p] += static_cast<float>(offset_ + prior_mean_[scored_[static_cast<std::size_t>(p)]]);
  }
  variance_ = (static_cast<float>(scale_) * (1 - explained_.array()).max(kLeastVariance)).matrix();
}

}  // namespace gemm_tune
