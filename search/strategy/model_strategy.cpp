// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/model_strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/least_places.h"
#include "search/strategy/posterior.h"
#include "search/strategy/results.h"
#include "search/strategy/start_points.h"
#include "search/strategy/untried.h"

namespace gemm_tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
ModelSearchConstants without_prior(ModelSearchConstants constants) {
  constants.surrogate.length = constants.prior_length;
  constants.squeeze = 0;
  return constants;
}

// Of the surrogate that has a prior.
ModelSearchConstants with_prior(ModelSearchConstants constants) {
  constants.squeeze = 0;  // its prior is not squeezed: squeezed_error() takes its place
  constants.surrogate.scale = constants.prior_scale;
  constants.surrogate.scale_weight = constants.prior_scale_weight;
  constants.surrogate.length = constants.prior_length;
  return constants;
}

// By how much results lay below what was expected of them, if they did: the middle of
// log(measured / expected) less the value that a sixth of them lie below, which is a deviation
// where they are normally distributed. Those that were slower than expected say of no point that it
// may be faster.
double lower_deviation(std::vector<double> logs) {
  if (logs.empty()) return 0;
  std::sort(logs.begin(), logs.end());
  return logs[logs.size() / 2] - logs[logs.size() / 6];
}

// What the surrogate expected of points and what these brought. Old ones fade.
class Promises {
 public:
  void add(double promised, double gained) {
    constexpr double kKeep = 0.98;  // the last fifty or so count
    promised_ = kKeep * promised_ + promised;
    gained_ = kKeep * gained_ + gained;
  }

  // The share of what was promised that came, as if `weight` had been promised and had come.
  double kept(double weight) const { return (gained_ + weight) / (promised_ + weight); }

 private:
  double promised_ = 0, gained_ = 0;  // improvements, summed
};

class ModelStrategy : public Strategy {
 public:
  ModelStrategy(const SearchSpace& space, std::vector<double> prior_us, std::uint64_t seed,
                const ModelSearchConstants& constants)
      : space_(space),
        constants_(constants),
        prior_(log_prior(std::move(prior_us), space.size())),
        posterior_(space, prior_, own_constants()),
        without_prior_(space, {}, without_prior(constants)),
        random_(seed),
        untried_(space.size()) {
    if (!prior_.empty()) prior_order_ = least_places(prior_, constants.pool / 4);
  }

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
    const auto promise = promised_.find(point);
    if (promise != promised_.end() && !results_.none_valid()) {
      promises_.add(promise->second, results_.gain_of(value));
    }
    if (!results_.add(point, value)) return;
    bests_.push_back(results_.best);
    const double worth = best_with_variants_ - constants_.variants_anew;
    if (!prior_.empty() && results_.since_best == 0 && results_.best < worth) {
      likely_variants_ = likely_variants();
      best_with_variants_ = results_.best;
    }
  }

  void spare(std::size_t point) override { untried_.remove(point); }

  std::size_t fits() const override { return fits_; }

  // The greater of what a surrogate expects, trusted as far as it kept its promises so far, and
  // half of what as many results brought just now: a surrogate that is wrong is sure of itself. The
  // surrogate is fitted to the results alone, so that those of an earlier run, told in its order,
  // are judged as they were in that run.
  std::optional<double> expected_gain(std::size_t tries) override {
    const std::size_t told = results_.points.size(), window = constants_.gain_window;
    if (told <= window || !std::isfinite(bests_[told - 1 - window])) return std::nullopt;
    Posterior posterior(space_, prior_, own_constants());
    const double trust = promises(posterior).kept(constants_.gain_trust);
    posterior.refit(results_, pool(posterior));
    const std::vector<std::size_t> places =
        posterior.most_promising(results_, untried_, std::min(tries, constants_.gain_points));
    if (places.empty()) return 0;
    const double share = std::min(1.0, static_cast<double>(tries) / static_cast<double>(window));
    const double lately = bests_[told - 1 - window] - bests_[told - 1];
    const double gain =
        std::max(trust * posterior.expected_gain(results_, places), 0.5 * share * lately);
    return 1 - std::exp(-gain);
  }

  std::optional<Outlook> outlook() const override {
    if (next_gains_count_ == 0 || prior_.empty()) return std::nullopt;
    std::vector<double> errors;
    for (std::size_t i = 0; i < results_.points.size(); ++i) {
      if (!std::isfinite(results_.values[i])) continue;
      errors.push_back(results_.values[i] - prior_[results_.points[i]]);
    }
    const std::size_t timed = errors.size();
    const double promised = *std::max_element(next_gains_.begin(), next_gains_.end());
    return Outlook{timed,
                   results_.since_best,
                   lower_deviation(std::move(errors)),
                   trust_in_promises() * promised,
                   results_.since_gain,
                   unasked_variants()};
  }

  // Trusted as far as earlier promises were kept, as outlook() has it.
  std::optional<double> gain_under_way() const override {
    if (results_.none_valid()) return std::nullopt;
    if (results_.pending.empty()) return 0;
    const auto& pending = results_.pending;
    const auto variant = std::find_first_of(pending.begin(), pending.end(),
                                            likely_variants_.begin(), likely_variants_.end());
    if (variant != pending.end()) return std::nullopt;
    Results told = results_;
    told.pending.clear();
    Posterior posterior(space_, prior_, own_constants());
    posterior.refit(told, results_.pending);
    std::vector<std::size_t> places(results_.pending.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    return trust_in_promises() * posterior.expected_gain(told, places);
  }

 private:
  double trust_in_promises() const {
    return std::min(1.0, promises_.kept(constants_.outlook_trust));
  }

  ModelSearchConstants own_constants() const {
    return prior_.empty() ? constants_ : with_prior(constants_);
  }

  std::size_t next() {
    const std::size_t asked = results_.points.size() + results_.pending.size();
    const bool started =
        prior_.empty() ? asked >= constants_.start && !results_.none_valid() : asked > 0;
    if (!started && !prior_.empty()) return prior_order_.front();
    if (!started && asked == 0) return central_point(space_, untried_, random_);
    if (!started) return far_point(space_, untried_, results_, constants_.start_draws, random_);
    if (results_.since_best >= constants_.variants_after) {
      for (const std::size_t variant : likely_variants_) {
        if (untried_.contains(variant)) return variant;
      }
    }
    const bool is_stalled = results_.since_best >= constants_.stall;
    const bool doubtful = is_stalled && ++doubts_ % 2 == 0;
    std::optional<std::size_t> point;
    if (doubtful && prior_.empty()) point = elite_neighbour();
    if (!point) point = promising(doubtful && !prior_.empty() ? without_prior_ : posterior_);
    return point ? *point : untried_.draw(random_);
  }

  // Of the best point: those that differ in one parameter and are not expected to be much slower,
  // the fastest by the prior first. The surrogate takes them for as fast as the best, and so seldom
  // asks for them.
  std::vector<std::size_t> likely_variants() const {
    std::vector<std::size_t> near = space_.variants(results_.best_point);
    const double most = prior_[results_.best_point] + constants_.likely_variant;
    std::erase_if(near, [&](std::size_t point) { return prior_[point] > most; });
    std::sort(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(prior_[a], a) < std::pair(prior_[b], b);
    });
    if (near.size() > constants_.most_variants) near.resize(constants_.most_variants);
    return near;
  }

  std::size_t unasked_variants() const {
    return static_cast<std::size_t>(
        std::count_if(likely_variants_.begin(), likely_variants_.end(),
                      [&](std::size_t point) { return untried_.contains(point); }));
  }

  std::optional<std::size_t> promising(Posterior& posterior) {
    update(posterior);
    const std::vector<std::size_t> places =
        posterior.most_promising(results_, untried_, kNextTries);
    if (places.empty()) return std::nullopt;
    const std::size_t point = posterior.surrogate().scored()[places[0]];
    if (&posterior == &posterior_ && !results_.none_valid()) {
      if (next_gains_count_ == 0) promises_ = promises_of_results();
      next_gains_[next_gains_count_++ % next_gains_.size()] =
          posterior.expected_gain(results_, places);
      promised_[point] = posterior.promise(results_, places[0]);
    }
    return point;
  }

  // Of results that were told before the first ask: an earlier run's, or a few of the first.
  Promises promises_of_results() const {
    Posterior posterior(space_, prior_, own_constants());
    return promises(posterior);
  }

  // What the surrogate promises of the last results, led through them in the order told, and what
  // they brought.
  Promises promises(Posterior& posterior) const {
    constexpr std::size_t kJudged = 100;  // older ones have faded
    const std::size_t told = results_.points.size(), first = told - std::min(told, kJudged);
    Results past;
    for (std::size_t i = 0; i < first; ++i) past.add(results_.points[i], results_.values[i]);
    const std::vector<std::size_t> judged(
        results_.points.begin() + static_cast<std::ptrdiff_t>(first), results_.points.end());
    Promises promises;
    for (std::size_t place = 0; place < judged.size(); ++place) {
      const double value = results_.values[first + place];
      if (!past.none_valid()) {
        if (posterior.wants_refit(past)) {
          posterior.refit(past, judged);
        } else {
          posterior.follow(past);
        }
        promises.add(posterior.promise(past, place), past.gain_of(value));
      }
      past.add(judged[place], value);
    }
    return promises;
  }

  void update(Posterior& posterior) {
    if (posterior.wants_refit(results_)) {
      posterior.refit(results_, pool(posterior));
      ++fits_;
    } else {
      posterior.follow(results_);
    }
  }

  // The best points told, best first.
  std::vector<std::size_t> elite() const {
    std::vector<std::size_t> points = results_.best_first();
    std::erase_if(points, [&](std::size_t point) {
      return !std::isfinite(results_.values[results_.place.at(point)]);
    });
    points.resize(std::min(points.size(), constants_.elite));
    return points;
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

  // What a surrogate is to score until its next refit: everything, or two rings around the best,
  // a quarter that it found most promising so far, a quarter that the prior does, the rest at
  // random.
  std::vector<std::size_t> pool(const Posterior& posterior) {
    if (space_.size() <= constants_.pool) {
      std::vector<std::size_t> all(space_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    std::vector<std::size_t> points;
    std::unordered_set<std::size_t> taken;
    const auto take = [&](std::size_t point) {
      if (points.size() < constants_.pool && untried_.contains(point) &&
          taken.insert(point).second) {
        points.push_back(point);
      }
    };
    for (const std::size_t point : elite()) {
      for (const std::size_t other : space_.neighbours(point)) {
        take(other);
        for (const std::size_t third : space_.neighbours(other)) take(third);
      }
    }
    const std::size_t quarter = constants_.pool / 4;
    for (const std::size_t place : posterior.most_promising(results_, untried_, quarter)) {
      take(posterior.surrogate().scored()[place]);
    }
    for (std::size_t i = 0; i < std::min(quarter, prior_order_.size()); ++i) take(prior_order_[i]);
    // As many draws as points are wanted, or a space that is nearly exhausted would never end it.
    for (std::size_t i = points.size(); i < constants_.pool && untried_.size() > 0; ++i) {
      take(untried_.draw(random_));
    }
    return points;
  }

  const SearchSpace& space_;
  const ModelSearchConstants constants_;
  const std::vector<double> prior_;       // log time, or empty
  std::vector<std::size_t> prior_order_;  // the best by it, best first
  Posterior posterior_;
  Posterior without_prior_;
  std::mt19937_64 random_;
  Untried untried_;
  Results results_;
  std::vector<double> bests_;  // after each result
  std::vector<std::size_t> likely_variants_;
  double best_with_variants_ = kInfinity;  // the log time of the best whose variants they are
  // Of points that were asked for; kept or not once they are told.
  std::unordered_map<std::size_t, double> promised_;
  Promises promises_;
  // Of the most promising points, at the latest asks: one alone may follow a refit that errs.
  std::array<double, 4> next_gains_ = {};
  std::size_t next_gains_count_ = 0;
  std::size_t doubts_ = 0;  // asks since the search first stalled
  std::size_t fits_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_model(const SearchSpace& space, std::vector<double> prior_us,
                                     std::uint64_t seed, const ModelSearchConstants& constants) {
  return std::make_unique<ModelStrategy>(space, std::move(prior_us), seed, constants);
}

}  // namespace gemm_tune
