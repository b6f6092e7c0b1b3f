#include "search/strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "search/point_index.h"

namespace gemm_tune {
namespace {

// Finds a point's neighbours in a list of points.
class Neighbourhood {
 public:
  explicit Neighbourhood(std::span<const KnownConfig> points) : points_(points), index_(points) {}

  std::vector<std::size_t> of(std::size_t point) const {
    const KnownConfig& centre = points_[point];
    std::vector<std::size_t> found;
    for (std::size_t param = 0; param < centre.values.size(); ++param) {
      const std::vector<int>& values = centre.family->params[param].values;
      const auto here = std::find(values.begin(), values.end(), centre.values[param]);
      if (here == values.end()) continue;  // a config from outside the searched values
      for (auto up = here + 1; up != values.end(); ++up) {
        if (add(centre, param, *up, found)) break;
      }
      for (auto down = here; down != values.begin();) {
        if (add(centre, param, *--down, found)) break;
      }
    }
    return found;
  }

 private:
  bool add(const KnownConfig& centre, std::size_t param, int value,
           std::vector<std::size_t>& found) const {
    std::vector<int> values = centre.values;
    values[param] = value;
    const std::optional<std::size_t> point = index_.find(*centre.family, values);
    if (point) found.push_back(*point);
    return point.has_value();
  }

  std::span<const KnownConfig> points_;
  PointIndex index_;
};

class Guided : public Strategy {
 public:
  Guided(std::span<const KnownConfig> points, std::vector<double> prior_us, std::size_t budget,
         std::uint64_t seed)
      : points_(points),
        neighbourhood_(points),
        prior_us_(std::move(prior_us)),
        walk_only_(std::min(budget - budget / 2, kWalkOnly)),
        tried_(points.size(), false) {
    if (prior_us_.size() != points.size()) {
      throw std::invalid_argument("a guided search needs one prior score per point");
    }
    // NaN has no place in an order.
    for (double& prior : prior_us_) {
      if (std::isnan(prior)) prior = std::numeric_limits<double>::infinity();
    }
    lot_.resize(points.size());
    std::iota(lot_.begin(), lot_.end(), std::size_t{0});
    // Shuffled by hand: std::shuffle differs between standard libraries.
    std::mt19937_64 random(seed);
    for (std::size_t i = lot_.size(); i > 1; --i) std::swap(lot_[i - 1], lot_[random() % i]);
    for (std::size_t i = 0; i < points.size(); ++i) walk_.push_back({prior_us_[i], lot_[i], i});
    std::make_heap(walk_.begin(), walk_.end());
  }

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count) {
      const bool look_around = asked_.size() >= walk_only_ && (asked_.size() - walk_only_) % 2 == 0;
      std::optional<std::size_t> point;
      if (look_around) point = best_neighbour();
      if (!point) point = next_of_walk();
      if (!point) break;
      tried_[*point] = true;
      asked.push_back(*point);
      asked_.push_back(*point);
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double> time_us) override {
    tried_.at(point) = true;
    std::erase_if(elite_, [point](const auto& entry) { return entry.second == point; });
    if (!time_us || !std::isfinite(*time_us)) return;
    elite_.emplace(*time_us, point);
    if (elite_.size() > kElite) elite_.erase(std::prev(elite_.end()));
  }

 private:
  // What the prior can tell it tells at once: of 50 asks on recorded sweeps the best was within
  // 0.2 % of all.
  static constexpr std::size_t kWalkOnly = 64;
  // Few enough to stay near the best, several so that one lucky basin does not end the search.
  static constexpr std::size_t kElite = 8;
  // A point that differs from one asked before in so few parameters, and in its prior by no more
  // than this, teaches little: the walk takes it for that much slower than its prior.
  static constexpr int kTwinParams = 2;
  static constexpr double kTwinPrior = 1.01;
  static constexpr double kTwinDelay = 1.05;

  // A point waiting for its turn in the walk. The greatest is the next.
  struct Waiting {
    double score;
    std::size_t lot, point;
    bool delayed = false;

    bool operator<(const Waiting& other) const {
      return score != other.score ? score > other.score : lot > other.lot;
    }
  };

  std::optional<std::size_t> next_of_walk() {
    while (!walk_.empty()) {
      std::pop_heap(walk_.begin(), walk_.end());
      Waiting& next = walk_.back();
      if (!tried_[next.point] && !next.delayed && is_twin(next.point)) {
        next.delayed = true;
        next.score *= kTwinDelay;
        std::push_heap(walk_.begin(), walk_.end());
        continue;
      }
      const std::size_t point = next.point;
      walk_.pop_back();
      if (!tried_[point]) return point;
    }
    return std::nullopt;
  }

  // Whether something much like the point was asked before.
  bool is_twin(std::size_t point) const {
    return std::any_of(asked_.begin(), asked_.end(), [&](std::size_t other) {
      const auto [low, high] = std::minmax(prior_us_[point], prior_us_[other]);
      if (!(high <= kTwinPrior * low) || points_[point].family != points_[other].family) {
        return false;
      }
      int differences = 0;
      for (std::size_t i = 0; i < points_[point].values.size(); ++i) {
        differences += points_[point].values[i] != points_[other].values[i] ? 1 : 0;
      }
      return differences <= kTwinParams;
    });
  }

  std::optional<std::size_t> best_neighbour() const {
    std::optional<std::size_t> best;
    double best_us = 0;
    for (const auto& [time_us, centre] : elite_) {
      const bool scalable = std::isfinite(prior_us_[centre]) && prior_us_[centre] > 0;
      const double correction = scalable ? time_us / prior_us_[centre] : 1.0;
      for (const std::size_t point : neighbourhood_.of(centre)) {
        if (tried_[point]) continue;
        const double expected_us = prior_us_[point] * correction;
        if (!std::isfinite(expected_us)) continue;  // no hope: left to the end of the walk
        if (!best || expected_us < best_us ||
            (expected_us == best_us && lot_[point] < lot_[*best])) {
          best = point;
          best_us = expected_us;
        }
      }
    }
    return best;
  }

  std::span<const KnownConfig> points_;
  Neighbourhood neighbourhood_;
  std::vector<double> prior_us_;
  std::size_t walk_only_;         // asks before the first look at neighbours
  std::vector<std::size_t> lot_;  // decides between equal scores
  std::vector<Waiting> walk_;     // a heap
  std::vector<std::size_t> asked_;
  std::vector<bool> tried_;
  std::set<std::pair<double, std::size_t>> elite_;  // the best told, best first
};

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(std::size_t points) : tried_(points, false) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    for (; next_ < tried_.size() && asked.size() < count; ++next_) {
      if (!tried_[next_]) asked.push_back(next_);
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double>) override { tried_.at(point) = true; }

 private:
  std::vector<bool> tried_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_guided(std::span<const KnownConfig> points,
                                      std::vector<double> prior_us, std::size_t budget,
                                      std::uint64_t seed) {
  return std::make_unique<Guided>(points, std::move(prior_us), budget, seed);
}

std::unique_ptr<Strategy> make_exhaustive(std::size_t points) {
  return std::make_unique<Exhaustive>(points);
}

}  // namespace gemm_tune
