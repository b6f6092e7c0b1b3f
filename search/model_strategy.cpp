#include "search/model_strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "search/untried.h"

namespace gemm_tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Jones, Schonlau and Welch 1998, for a minimum.
double expected_improvement(double best, double mean, double variance) {
  const double deviation = std::sqrt(variance), gap = (best - mean) / deviation;
  const double density = 0.3989422804014327 * std::exp(-0.5 * gap * gap);
  const double share = 0.5 * std::erfc(-0.7071067811865476 * gap);
  return deviation * (gap * share + density);
}

// Logarithms; what is unknown is the mean of the others, what is hopeless the worst.
std::vector<double> log_prior(std::vector<double> prior_us, std::size_t size) {
  if (prior_us.empty()) return {};
  if (prior_us.size() != size) {
    throw std::invalid_argument("a model search needs one prior time per point, or none");
  }
  double worst = -kInfinity, sum = 0;
  std::size_t known = 0;
  for (double& prior : prior_us) {
    if (std::isnan(prior)) continue;
    prior = prior > 0 ? std::log(prior) : kInfinity;
    if (!std::isfinite(prior)) continue;
    worst = std::max(worst, prior);
    sum += prior;
    ++known;
  }
  for (double& prior : prior_us) {
    if (std::isnan(prior)) prior = known > 0 ? sum / static_cast<double>(known) : 0;
    if (!std::isfinite(prior)) prior = known > 0 ? worst : 0;
  }
  return prior_us;
}

// Of the surrogate without the prior, which looks for what the prior misses.
ModelSearchConstants doubting(ModelSearchConstants constants) {
  constants.surrogate.length = constants.prior_length;
  return constants;
}

// Of the surrogate that has a prior.
ModelSearchConstants believing(ModelSearchConstants constants) {
  constants.surrogate.scale = constants.prior_scale;
  constants.surrogate.scale_weight = constants.prior_scale_weight;
  constants.surrogate.length = constants.prior_length;
  return constants;
}

// What was told, and what is under way.
struct Results {
  std::vector<std::size_t> points;  // in the order told
  std::vector<double> values;       // log time; infinite for a failure
  std::vector<std::size_t> pending;
  double best = kInfinity, worst = -kInfinity;
  std::size_t since_best = 0;

  bool none_valid() const { return !std::isfinite(best); }

  // Of all of them: a failure is as bad as the worst, or unknown where there is no other.
  std::vector<double> filled() const {
    std::vector<double> all = values;
    for (double& value : all) {
      if (!std::isfinite(value)) value = none_valid() ? kNan : worst;
    }
    return all;
  }
};

// A surrogate that follows the results.
class Belief {
 public:
  Belief(const SearchSpace& space, std::vector<double> prior, const ModelSearchConstants& constants)
      : constants_(constants), surrogate_(space, std::move(prior), constants.surrogate) {}

  bool wants_refit(const Results& results) const {
    if (place_.empty()) return true;
    return static_cast<double>(results.points.size()) >= constants_.refit_growth * fitted_at_;
  }

  void refit(const Results& results, std::vector<std::size_t> pool) {
    place_.clear();
    for (const std::size_t point : results.points) place_.emplace(point, place_.size());
    std::vector<std::size_t> points = results.points;
    std::vector<double> values = results.filled();
    if (points.empty()) {
      points.push_back(results.pending.front());
      values.push_back(kNan);
      place_.emplace(points.front(), 0);
    }
    surrogate_.fit(std::move(points), values, std::move(pool),
                   results.none_valid() ? 0 : constants_.refit_iterations);
    fitted_at_ = static_cast<double>(results.points.size());
    told_ = results.points.size();
    add(results.pending);
  }

  // Takes in what has changed since.
  void follow(const Results& results) {
    const bool news = told_ != results.points.size();
    told_ = results.points.size();
    add(results.points);
    add(results.pending);
    if (!news) return;
    std::vector<double> values(place_.size(), kNan);
    const std::vector<double> told = results.filled();
    for (std::size_t i = 0; i < told.size(); ++i) values[place_.at(results.points[i])] = told[i];
    surrogate_.set_values(values);
  }

  // The untried point that promises most, of those scored, if what is under way comes out as
  // expected.
  std::optional<std::size_t> most_promising(const Results& results, const Untried& untried) const {
    double best = results.best, most = -1;
    if (!results.pending.empty()) {
      best = std::min(best, double{surrogate_.means(results.pending).minCoeff()});
    }
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < surrogate_.scored().size(); ++i) {
      const std::size_t point = surrogate_.scored()[i];
      if (!untried.contains(point)) continue;
      const auto at = static_cast<Eigen::Index>(i);
      const double gain =
          expected_improvement(best, surrogate_.mean()[at], surrogate_.variance()[at]);
      if (gain > most) {
        most = gain;
        found = point;
      }
    }
    return found;
  }

 private:
  void add(const std::vector<std::size_t>& points) {
    for (const std::size_t point : points) {
      if (place_.emplace(point, place_.size()).second) surrogate_.observe(point);
    }
  }

  const ModelSearchConstants constants_;
  Surrogate surrogate_;
  std::unordered_map<std::size_t, std::size_t> place_;  // of a point among the observations
  std::size_t told_ = 0;
  double fitted_at_ = 0;
};

class Model : public Strategy {
 public:
  Model(const SearchSpace& space, std::vector<double> prior_us, std::uint64_t seed,
        const ModelSearchConstants& constants)
      : space_(space),
        constants_(constants),
        prior_(log_prior(std::move(prior_us), space.size())),
        belief_(space, prior_, prior_.empty() ? constants : believing(constants)),
        doubt_(space, {}, doubting(constants)),
        random_(seed),
        untried_(space.size()) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count && untried_.size() > 0) {
      asked.push_back(next());
      untried_.remove(asked.back());
      results_.pending.push_back(asked.back());
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double> time_us) override {
    untried_.remove(point);
    std::erase(results_.pending, point);
    const bool good = time_us && std::isfinite(*time_us) && *time_us > 0;
    const double value = good ? std::log(*time_us) : kInfinity;
    const auto known = std::find(results_.points.begin(), results_.points.end(), point);
    if (known != results_.points.end()) return;  // told before
    results_.points.push_back(point);
    results_.values.push_back(value);
    if (good) results_.worst = std::max(results_.worst, value);
    results_.since_best = value < results_.best ? 0 : results_.since_best + 1;
    results_.best = std::min(results_.best, value);
  }

  std::size_t fits() const override { return fits_; }

 private:
  std::size_t next() {
    const std::size_t asked = space_.size() - untried_.size();
    const bool started =
        prior_.empty() ? asked >= constants_.start && !results_.none_valid() : asked > 0;
    if (!started && !prior_.empty()) return best_of_prior();
    if (!started) return asked == 0 ? centre() : far_point();
    const bool doubtful = results_.since_best >= constants_.stall && ++doubts_ % 2 == 0;
    std::optional<std::size_t> point;
    if (doubtful && prior_.empty()) point = elite_neighbour();
    if (!point) point = promising(doubtful && !prior_.empty() ? doubt_ : belief_);
    return point ? *point : untried_.draw(random_);
  }

  std::optional<std::size_t> promising(Belief& belief) {
    if (belief.wants_refit(results_)) {
      belief.refit(results_, pool());
      ++fits_;
    } else {
      belief.follow(results_);
    }
    return belief.most_promising(results_, untried_);
  }

  std::size_t best_of_prior() const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (untried_.contains(i) && (!best || prior_[i] < prior_[*best])) best = i;
    }
    return *best;
  }

  // Squared, each parameter's range counting 1.
  double distance(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (std::size_t i = 0; i < space_.params().size(); ++i) {
      const double difference = static_cast<double>(space_.at(a)[i]) - space_.at(b)[i];
      const double range = static_cast<double>(space_.params()[i].values.size()) - 1;
      if (range > 0) sum += difference * difference / (range * range);
    }
    return sum;
  }

  // The point nearest to the middle of all value lists; of equal ones, any.
  std::size_t centre() {
    std::vector<std::size_t> nearest;
    double least = kInfinity;
    for (std::size_t point = 0; point < space_.size(); ++point) {
      if (!untried_.contains(point)) continue;
      double sum = 0;
      for (std::size_t i = 0; i < space_.params().size(); ++i) {
        const double range = static_cast<double>(space_.params()[i].values.size()) - 1;
        if (range == 0) continue;
        const double off = space_.at(point)[i] / range - 0.5;
        sum += off * off;
      }
      if (sum < least) nearest.clear();
      if (sum <= least) nearest.push_back(point);
      least = std::min(least, sum);
    }
    return nearest[random_() % nearest.size()];
  }

  // Of some random points the one farthest from all tried.
  std::size_t far_point() {
    std::size_t best = 0;
    double farthest = -1;
    for (std::size_t i = 0; i < constants_.start_draws; ++i) {
      const std::size_t point = untried_.draw(random_);
      double nearest = kInfinity;
      for (const auto* tried : {&results_.points, &results_.pending}) {
        for (const std::size_t other : *tried) nearest = std::min(nearest, distance(point, other));
      }
      if (nearest > farthest) {
        farthest = nearest;
        best = point;
      }
    }
    return best;
  }

  // The best points told, best first.
  std::vector<std::size_t> elite() const {
    std::vector<std::size_t> order(results_.points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return !std::isfinite(results_.values[i]); });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return results_.values[a] < results_.values[b];
    });
    order.resize(std::min(order.size(), constants_.elite));
    for (std::size_t& i : order) i = results_.points[i];
    return order;
  }

  std::optional<std::size_t> elite_neighbour() {
    std::vector<std::size_t> near;
    for (const std::size_t point : elite()) {
      for (const std::size_t other : space_.neighbours(point)) {
        if (untried_.contains(other)) near.push_back(other);
      }
    }
    if (near.empty()) return std::nullopt;
    return near[random_() % near.size()];
  }

  // What a surrogate is to score until its next refit.
  std::vector<std::size_t> pool() {
    if (space_.size() <= constants_.pool) {
      std::vector<std::size_t> all(space_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    std::vector<std::size_t> points;
    std::unordered_set<std::size_t> taken;
    const auto take = [&](std::size_t point) {
      if (untried_.contains(point) && taken.insert(point).second) points.push_back(point);
    };
    for (const std::size_t point : elite()) {
      for (const std::size_t other : space_.neighbours(point)) {
        take(other);
        for (const std::size_t third : space_.neighbours(other)) take(third);
      }
    }
    // As many draws as points are wanted, or a space that is nearly exhausted would never end it.
    for (std::size_t i = points.size(); i < constants_.pool && untried_.size() > 0; ++i) {
      take(untried_.draw(random_));
    }
    return points;
  }

  const SearchSpace& space_;
  const ModelSearchConstants constants_;
  const std::vector<double> prior_;  // log time, or empty
  Belief belief_;
  Belief doubt_;  // without the prior
  std::mt19937_64 random_;
  Untried untried_;
  Results results_;
  std::size_t doubts_ = 0;  // asks since the search first stalled
  std::size_t fits_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_model(const SearchSpace& space, std::vector<double> prior_us,
                                     std::uint64_t seed, const ModelSearchConstants& constants) {
  return std::make_unique<Model>(space, std::move(prior_us), seed, constants);
}

}  // namespace gemm_tune
