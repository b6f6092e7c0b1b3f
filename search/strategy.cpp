#include "search/strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

namespace gemm_tune {
namespace {

// Finds a point's neighbours in a list of points.
class Neighbourhood {
 public:
  explicit Neighbourhood(std::span<const KnownConfig> points) : points_(points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      index_.emplace(Key{points[i].family, points[i].values}, i);
    }
  }

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
  using Key = std::pair<const KernelFamily*, std::vector<int>>;

  bool add(const KnownConfig& centre, std::size_t param, int value,
           std::vector<std::size_t>& found) const {
    Key key{centre.family, centre.values};
    key.second[param] = value;
    const auto at = index_.find(key);
    if (at == index_.end()) return false;
    found.push_back(at->second);
    return true;
  }

  std::span<const KnownConfig> points_;
  std::map<Key, std::size_t> index_;
};

class Guided : public Strategy {
 public:
  Guided(std::span<const KnownConfig> points, std::vector<double> prior_us, std::size_t budget,
         std::uint64_t seed)
      : neighbourhood_(points),
        prior_us_(std::move(prior_us)),
        walk_only_(budget - budget / 2),
        tried_(points.size(), false) {
    if (prior_us_.size() != points.size()) {
      throw std::invalid_argument("a guided search needs one prior score per point");
    }
    // NaN has no place in an order.
    for (double& prior : prior_us_) {
      if (std::isnan(prior)) prior = std::numeric_limits<double>::infinity();
    }
    walk_.resize(points.size());
    std::iota(walk_.begin(), walk_.end(), std::size_t{0});
    // Shuffled by hand: std::shuffle differs between standard libraries.
    std::mt19937_64 random(seed);
    for (std::size_t i = walk_.size(); i > 1; --i) std::swap(walk_[i - 1], walk_[random() % i]);
    std::stable_sort(walk_.begin(), walk_.end(), [this](std::size_t left, std::size_t right) {
      return prior_us_[left] < prior_us_[right];
    });
    rank_.resize(walk_.size());
    for (std::size_t i = 0; i < walk_.size(); ++i) rank_[walk_[i]] = i;
  }

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count) {
      const bool look_around = asked_ >= walk_only_ && (asked_ - walk_only_) % 2 == 0;
      std::optional<std::size_t> point;
      if (look_around) point = best_neighbour();
      if (!point) point = next_of_walk();
      if (!point) break;
      tried_[*point] = true;
      asked.push_back(*point);
      ++asked_;
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
  // Few enough to stay near the best, several so that one lucky basin does not end the search.
  static constexpr std::size_t kElite = 8;

  std::optional<std::size_t> next_of_walk() {
    while (next_ < walk_.size() && tried_[walk_[next_]]) ++next_;
    if (next_ == walk_.size()) return std::nullopt;
    return walk_[next_];
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
            (expected_us == best_us && rank_[point] < rank_[*best])) {
          best = point;
          best_us = expected_us;
        }
      }
    }
    return best;
  }

  Neighbourhood neighbourhood_;
  std::vector<double> prior_us_;
  std::size_t walk_only_;          // asks before the first look at neighbours
  std::vector<std::size_t> walk_;  // by ascending prior
  std::vector<std::size_t> rank_;  // a point's place in walk_
  std::size_t next_ = 0;           // in walk_
  std::size_t asked_ = 0;
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
