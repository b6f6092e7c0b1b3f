#include "search/model_strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace gemm_tune {
namespace {

double expected_improvement(double best, double mean, double variance) {
  const double sigma = std::sqrt(variance), u = (best - mean) / sigma;
  const double density = std::exp(-0.5 * u * u) * 0.3989422804014327;
  return sigma * (u * 0.5 * std::erfc(-u * 0.7071067811865476) + density);
}

class Model : public Strategy {
 public:
  Model(const SearchSpace& space, std::vector<double> prior_us, std::uint64_t seed,
        const ModelConstants& constants)
      : space_(space),
        constants_(constants),
        has_prior_(!prior_us.empty()),
        prior_(log_of(std::move(prior_us), space.size())),
        surrogate_(space, prior_, constants.surrogate),
        random_(seed),
        tried_(space.size(), false) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count && left_ > 0) {
      const std::size_t point = next();
      mark(point);
      asked.push_back(point);
      pending_.push_back(point);
      if (fitted_) {
        surrogate_.observe(point);
        order_.push_back(point);
        believed_ = true;
      }
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double> time_us) override {
    if (!tried_.at(point)) mark(point);
    std::erase(pending_, point);
    const bool good = time_us && std::isfinite(*time_us) && *time_us > 0;
    const auto known = std::find(told_.begin(), told_.end(), point);
    const auto at = static_cast<std::size_t>(known - told_.begin());
    if (known == told_.end()) {
      told_.push_back(point);
      value_.push_back(0);
    }
    value_[at] = good ? std::log(*time_us) : std::numeric_limits<double>::infinity();
    if (good) worst_ = std::max(worst_, value_[at]);
    if (good && value_[at] < best_) {
      best_ = value_[at];
      since_best_ = 0;
    } else {
      ++since_best_;
    }
    fresh_ = true;
  }

 private:
  static std::vector<double> log_of(std::vector<double> prior_us, std::size_t size) {
    if (prior_us.empty()) return {};
    if (prior_us.size() != size) {
      throw std::invalid_argument("a model search needs one prior time per point, or none");
    }
    double worst = -std::numeric_limits<double>::infinity();
    for (double& prior : prior_us) {
      prior = prior > 0 ? std::log(prior) : std::numeric_limits<double>::infinity();
      if (std::isfinite(prior)) worst = std::max(worst, prior);
    }
    for (double& prior : prior_us) {
      if (!std::isfinite(prior)) prior = std::isfinite(worst) ? worst : 0;
    }
    return prior_us;
  }

  void mark(std::size_t point) {
    tried_[point] = true;
    --left_;
  }

  std::size_t next() {
    const bool none_good = !std::isfinite(best_);
    const std::size_t asked = space_.size() - left_;
    const std::size_t start = static_cast<std::size_t>(has_prior_ ? 1 : constants_.start);
    if (asked < start || none_good) return has_prior_ ? best_prior() : start_point();
    update();
    return most_promising();
  }

  std::size_t best_prior() const {
    std::size_t best = space_.size();
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (!tried_[i] && (best == space_.size() || prior_[i] < prior_[best])) best = i;
    }
    return best;
  }

  double distance(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (std::size_t i = 0; i < space_.params().size(); ++i) {
      const std::size_t values = space_.params()[i].values.size();
      if (values < 2) continue;
      const double d = (static_cast<double>(space_.at(a)[i]) - space_.at(b)[i]) /
                       static_cast<double>(values - 1);
      sum += d * d;
    }
    return sum;
  }

  std::size_t any_untried() {
    for (int i = 0; i < 64; ++i) {
      const std::size_t point = random_() % space_.size();
      if (!tried_[point]) return point;
    }
    std::size_t skip = random_() % left_;
    for (std::size_t i = 0;; ++i) {
      if (!tried_[i] && skip-- == 0) return i;
    }
  }

  // Of some random points the one farthest from all tried.
  std::size_t start_point() {
    std::size_t best = any_untried();
    if (constants_.start_kind == 1 && pending_.empty() && told_.empty()) {
      // the most central of draws
      double least = INFINITY;
      for (int i = 0; i < 1000; ++i) {
        const std::size_t point = any_untried();
        double sum = 0;
        for (std::size_t p = 0; p < space_.params().size(); ++p) {
          const std::size_t values = space_.params()[p].values.size();
          if (values < 2) continue;
          const double d = static_cast<double>(space_.at(point)[p]) /
                           static_cast<double>(values - 1) - 0.5;
          sum += d * d;
        }
        if (sum < least) least = sum, best = point;
      }
      return best;
    }
    double farthest = -1;
    for (int i = 0; i < constants_.start_draws; ++i) {
      const std::size_t point = any_untried();
      double nearest = std::numeric_limits<double>::infinity();
      for (const std::size_t other : told_) nearest = std::min(nearest, distance(point, other));
      for (const std::size_t other : pending_) nearest = std::min(nearest, distance(point, other));
      if (nearest > farthest) {
        farthest = nearest;
        best = point;
      }
    }
    return best;
  }

  double value_of(std::size_t told) const {
    return std::isfinite(value_[told]) ? value_[told] : worst_;
  }

  void update() {
    if (!fresh_) return;
    fresh_ = false;
    if (!fitted_ || static_cast<double>(told_.size()) >= constants_.refit * fitted_at_) {
      refit();
      return;
    }
    for (const std::size_t point : told_) {
      if (std::find(order_.begin(), order_.end(), point) != order_.end()) continue;
      surrogate_.observe(point);
      order_.push_back(point);
    }
    set_values();
  }

  void set_values() {
    std::vector<double> values(order_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < told_.size(); ++i) {
      const auto at = std::find(order_.begin(), order_.end(), told_[i]);
      values[static_cast<std::size_t>(at - order_.begin())] = value_of(i);
    }
    surrogate_.set_values(values);
  }

  void refit() {
    std::vector<double> values;
    for (std::size_t i = 0; i < told_.size(); ++i) values.push_back(value_of(i));
    order_ = told_;
    const int iterations =
        static_cast<int>(told_.size()) < constants_.least_fit ? 0 : constants_.iterations;
    surrogate_.fit(told_, values, pool(), iterations);
    for (const std::size_t point : pending_) {
      surrogate_.observe(point);
      order_.push_back(point);
    }
    fitted_ = true;
    fitted_at_ = static_cast<double>(told_.size());
  }

  std::vector<std::size_t> pool() {
    std::vector<std::size_t> all(space_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  std::size_t most_promising() {
    const Eigen::VectorXf& mean = surrogate_.mean();
    const Eigen::VectorXf& variance = surrogate_.variance();
    double most = -1;
    std::size_t best = space_.size();
    for (std::size_t i = 0; i < surrogate_.scored().size(); ++i) {
      const std::size_t point = surrogate_.scored()[i];
      if (tried_[point]) continue;
      const auto at = static_cast<Eigen::Index>(i);
      const double gain = expected_improvement(best_, mean[at], variance[at]);
      if (gain > most) {
        most = gain;
        best = point;
      }
    }
    return best < space_.size() ? best : any_untried();
  }

  const SearchSpace& space_;
  const ModelConstants constants_;
  const bool has_prior_;
  std::vector<double> prior_;
  Surrogate surrogate_;
  std::mt19937_64 random_;
  std::vector<bool> tried_;
  std::size_t left_ = tried_.size();
  std::vector<std::size_t> pending_, told_, order_;
  std::vector<double> value_;
  double best_ = std::numeric_limits<double>::infinity();
  double worst_ = -std::numeric_limits<double>::infinity();
  int since_best_ = 0;
  bool fitted_ = false, fresh_ = false, believed_ = false;
  double fitted_at_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_model(const SearchSpace& space, std::vector<double> prior_us,
                                     std::uint64_t seed, const ModelConstants& constants) {
  return std::make_unique<Model>(space, std::move(prior_us), seed, constants);
}

}  // namespace gemm_tune
