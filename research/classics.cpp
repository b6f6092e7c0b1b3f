// SPDX-License-Identifier: Apache-2.0
#include "research/classics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "search/strategy/strategy_by_name.h"
#include "search/strategy/untried.h"

namespace gemm_tune {
namespace {

using Place = SearchSpace::ValueIndex;

// What they share: memory, and a way out when nothing new comes to mind.
class Classic : public Strategy {
 public:
  Classic(const SearchSpace& space, std::uint64_t seed)
      : space_(space), random_(seed), untried_(space.size()) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count && untried_.size() > 0) {
      asked.push_back(new_point());
      untried_.remove(asked.back());
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double> time_us) override {
    untried_.remove(point);
    const bool good = time_us && std::isfinite(*time_us) && *time_us > 0;
    const double value = good ? std::log(*time_us) : std::numeric_limits<double>::infinity();
    known_[point] = value;
    learn(point, value);
  }

 protected:
  // A point to evaluate next, evaluated before or not.
  virtual std::size_t propose() = 0;
  // A point's value, right after it was proposed if known and when it is told if not.
  virtual void learn(std::size_t point, double value) = 0;

  std::size_t below(std::size_t count) { return random_() % count; }
  double chance() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  std::size_t neighbour(std::size_t point) {
    const std::vector<std::size_t> all = space_.neighbours(point);
    return all.empty() ? below(space_.size()) : all[below(all.size())];
  }

  const SearchSpace& space_;

 private:
  std::size_t new_point() {
    constexpr int kProposals = 200;
    for (int i = 0; i < kProposals; ++i) {
      const std::size_t point = propose();
      if (untried_.contains(point)) return point;
      const auto known = known_.find(point);
      if (known != known_.end()) learn(point, known->second);
    }
    return untried_.draw(random_);
  }

  std::mt19937_64 random_;
  Untried untried_;
  std::map<std::size_t, double> known_;
};

// A walk over neighbours that accepts a loss of d (in log time) with probability exp(-d / T), T
// falling geometrically over the budget (Kirkpatrick, Gelatt and Vecchi 1983).
class Annealing : public Classic {
 public:
  Annealing(const SearchSpace& space, std::size_t budget, std::uint64_t seed)
      : Classic(space, seed), budget_(static_cast<double>(std::max<std::size_t>(budget, 1))) {}

 protected:
  std::size_t propose() override { return started_ ? neighbour(here_) : below(space_.size()); }

  void learn(std::size_t point, double value) override {
    // From a loss of a factor e, likely at first, to one of 0.1 %, unlikely at the end.
    constexpr double kFirst = 1.0, kLast = 0.001;
    const double spent = std::min(1.0, static_cast<double>(learnt_++) / budget_);
    const double temperature = kFirst * std::pow(kLast / kFirst, spent);
    if (started_ && !(value <= value_) && !(chance() < std::exp((value_ - value) / temperature))) {
      return;
    }
    started_ = started_ || std::isfinite(value);
    here_ = point;
    value_ = value;
  }

 private:
  const double budget_;
  std::size_t learnt_ = 0;
  bool started_ = false;
  std::size_t here_ = 0;
  double value_ = 0;
};

// Tournaments of two among the best twenty, uniform crossover, one mutation a child on average; a
// child displaces the worst (Goldberg 1989; steady state).
class Genetic : public Classic {
 public:
  using Classic::Classic;

 protected:
  std::size_t propose() override {
    if (population_.size() < kPopulation) return below(space_.size());
    constexpr int kDraws = 100;  // most crossings of a space with many rules are invalid
    for (int i = 0; i < kDraws; ++i) {
      const std::optional<std::size_t> child = cross(parent(), parent());
      if (child) return *child;
    }
    return neighbour(parent());
  }

  void learn(std::size_t point, double value) override {
    if (!std::isfinite(value)) return;
    for (const auto& [other_value, other] : population_) {
      if (other == point) return;
    }
    population_.emplace_back(value, point);
    std::sort(population_.begin(), population_.end());
    if (population_.size() > kPopulation) population_.pop_back();
  }

 private:
  static constexpr std::size_t kPopulation = 20;

  std::size_t parent() {
    const std::size_t a = below(population_.size()), b = below(population_.size());
    return population_[std::min(a, b)].second;
  }

  std::optional<std::size_t> cross(std::size_t a, std::size_t b) {
    std::vector<Place> child(space_.at(a).begin(), space_.at(a).end());
    for (std::size_t i = 0; i < child.size(); ++i) {
      if (below(2) == 1) child[i] = space_.at(b)[i];
      if (below(child.size()) == 0) {
        child[i] = static_cast<Place>(below(space_.params()[i].values.size()));
      }
    }
    return space_.find(child);
  }

  std::vector<std::pair<double, std::size_t>> population_;  // best first
};

// rand/1/bin on the places of values, F 0.8, CR 0.9, population 16 (Storn and Price 1997).
class DiffEvo : public Classic {
 public:
  using Classic::Classic;

 protected:
  std::size_t propose() override {
    if (population_.size() < kPopulation) return below(space_.size());
    const std::size_t target = next_++ % kPopulation;
    constexpr int kDraws = 100;
    std::optional<std::size_t> trial;
    for (int i = 0; i < kDraws && !trial; ++i) trial = mutant(target);
    const std::size_t point = trial ? *trial : neighbour(population_[target].second);
    target_of_[point] = target;
    return point;
  }

  void learn(std::size_t point, double value) override {
    const auto target = target_of_.extract(point);
    if (!target.empty()) {
      auto& [best, holder] = population_[target.mapped()];
      if (value <= best) {
        best = value;
        holder = point;
      }
    } else if (population_.size() < kPopulation) {
      population_.emplace_back(value, point);
    }
  }

 private:
  static constexpr std::size_t kPopulation = 16;
  static constexpr double kWeight = 0.8, kCrossing = 0.9;

  std::optional<std::size_t> mutant(std::size_t target) {
    const auto a = space_.at(population_[below(kPopulation)].second);
    const auto b = space_.at(population_[below(kPopulation)].second);
    const auto c = space_.at(population_[below(kPopulation)].second);
    const auto own = space_.at(population_[target].second);
    std::vector<Place> child(own.begin(), own.end());
    const std::size_t always = below(child.size());
    for (std::size_t i = 0; i < child.size(); ++i) {
      if (i != always && chance() >= kCrossing) continue;
      const double moved = a[i] + kWeight * (static_cast<double>(b[i]) - c[i]);
      const auto last = static_cast<double>(space_.params()[i].values.size() - 1);
      child[i] = static_cast<Place>(std::clamp(std::round(moved), 0.0, last));
    }
    return space_.find(child);
  }

  std::vector<std::pair<double, std::size_t>> population_;
  std::map<std::size_t, std::size_t> target_of_;  // by trial point
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_studied(std::string_view name, const SearchSpace& space,
                                       std::vector<double> prior_us, std::size_t budget,
                                       std::uint64_t seed) {
  if (name == "annealing") return std::make_unique<Annealing>(space, budget, seed);
  if (name == "genetic") return std::make_unique<Genetic>(space, seed);
  if (name == "diff_evo") return std::make_unique<DiffEvo>(space, seed);
  return make_strategy(name, space, std::move(prior_us), seed);
}

}  // namespace gemm_tune
