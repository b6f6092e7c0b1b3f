// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/model_strategy.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "search/strategy/untried.h"

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
  constants.squeeze = 0;
  return constants;
}

// Of the surrogate that has a prior.
ModelSearchConstants believing(ModelSearchConstants constants) {
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

// What was told, and what is under way.
struct Results {
  std::vector<std::size_t> points;                     // in the order told
  std::vector<double> values;                          // log time; infinite for a failure
  std::unordered_map<std::size_t, std::size_t> place;  // of a point among these
  std::vector<std::size_t> pending;
  double best = kInfinity, worst = -kInfinity;
  std::size_t best_point = 0;  // any, where nothing is valid
  std::size_t since_best = 0, since_gain = 0;
  double best_at_gain = kInfinity;

  bool none_valid() const { return !std::isfinite(best); }

  // False where the point was told before.
  bool add(std::size_t point, double value) {
    if (!place.emplace(point, points.size()).second) return false;
    points.push_back(point);
    values.push_back(value);
    if (std::isfinite(value)) worst = std::max(worst, value);
    since_best = value < best ? 0 : since_best + 1;
    if (value < best) best_point = point;
    best = std::min(best, value);
    const bool is_gain = value < best_at_gain - StopRule().worth;
    since_gain = is_gain ? 0 : since_gain + 1;
    if (is_gain) best_at_gain = value;
    return true;
  }

  // By how much a further value improves on the best.
  double gain_of(double value) const { return none_valid() ? 0 : std::max(0.0, best - value); }

  // A failure is as bad as the worst; unknown where there is no other, as what was not told.
  double value_of(std::size_t point) const {
    const auto told = place.find(point);
    if (told == place.end()) return kNan;
    const double value = values[told->second];
    if (std::isfinite(value)) return value;
    return none_valid() ? kNan : worst;
  }

  // The told points, best first.
  std::vector<std::size_t> best_first() const {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    for (std::size_t& i : order) i = points[i];
    return order;
  }
};

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

// Half of them the first, the others evenly from the rest; all where there are no more.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& points, std::size_t count) {
  if (points.size() <= count) return points;
  const std::size_t first = count / 2, rest = count - first, left = points.size() - first;
  std::vector<std::size_t> kept(points.begin(),
                                points.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < rest; ++i) kept.push_back(points[first + i * left / rest]);
  return kept;
}

// A surrogate that follows the results.
class Belief {
 public:
  Belief(const SearchSpace& space, std::vector<double> prior, const ModelSearchConstants& constants)
      : constants_(constants),
        has_prior_(!prior.empty()),
        surrogate_(space, std::move(prior), constants.surrogate) {}

  bool wants_refit(const Results& results) const {
    if (observed_.empty()) return true;
    const std::size_t told = results.points.size();
    const double grown = constants_.refit_growth * static_cast<double>(fitted_at_);
    return told > fitted_at_ && (static_cast<double>(told) >= grown ||
                                 told >= fitted_at_ + constants_.most_observed / 4);
  }

  void refit(const Results& results, std::vector<std::size_t> pool) {
    observed_ = thinned(results.best_first(), constants_.most_observed);
    if (observed_.empty()) observed_.push_back(results.pending.front());
    known_ = {observed_.begin(), observed_.end()};
    surrogate_.fit(observed_, values(results), std::move(pool),
                   results.none_valid() ? 0 : constants_.refit_iterations);
    fitted_at_ = followed_ = results.points.size();
    add(results.pending);
  }

  // Takes in what has changed since.
  void follow(const Results& results) {
    const bool news = followed_ != results.points.size();
    add(std::span(results.points).subspan(followed_));
    followed_ = results.points.size();
    add(results.pending);
    if (news) surrogate_.set_values(values(results));
  }

  // The untried points that promise most, of those scored, best first, if what is under way comes
  // out as expected.
  std::vector<std::size_t> most_promising(const Results& results, const Untried& untried,
                                          std::size_t count) const {
    const double best = best_expected(results);
    std::vector<std::pair<double, std::size_t>> gains;  // the most, with the place in scored()
    gains.reserve(surrogate_.scored().size());
    for (std::size_t i = 0; i < surrogate_.scored().size(); ++i) {
      if (!untried.contains(surrogate_.scored()[i])) continue;
      const auto at = static_cast<Eigen::Index>(i);
      gains.emplace_back(
          -expected_improvement(best, surrogate_.mean()[at], surrogate_.variance()[at]), i);
    }
    const auto end = gains.begin() + static_cast<std::ptrdiff_t>(std::min(count, gains.size()));
    std::partial_sort(gains.begin(), end, gains.end());
    std::vector<std::size_t> places;
    for (auto gain = gains.begin(); gain != end; ++gain) places.push_back(gain->second);
    return places;
  }

  // By how much the least of these points is expected to lie below the best result, if what is
  // under way comes out as expected: the mean over draws from their joint posterior.
  double expected_gain(const Results& results, std::span<const std::size_t> places) const {
    constexpr int kDraws = 256;
    const auto count = static_cast<Eigen::Index>(places.size());
    Eigen::MatrixXd covariance = surrogate_.covariance(places);
    covariance.diagonal().array() += 1e-4 * covariance.diagonal().maxCoeff();  // float's rounding
    Eigen::LLT<Eigen::MatrixXd> cholesky(covariance);
    for (double more = 1e-3; cholesky.info() != Eigen::Success && more < 1; more *= 10) {
      const double added = more * covariance.diagonal().maxCoeff();
      cholesky.compute(covariance + added * Eigen::MatrixXd::Identity(count, count));
    }
    const Eigen::MatrixXd factor = cholesky.matrixL();
    Eigen::VectorXd mean(count), drawn(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      mean[i] = surrogate_.mean()[static_cast<Eigen::Index>(places[static_cast<std::size_t>(i)])];
    }
    const double best = best_expected(results);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      for (double& one : drawn) one = normal(random);
      sum += std::max(0.0, best - (mean + factor * drawn).minCoeff());
    }
    return sum / kDraws;
  }

  // The improvement to expect from one of the scored points.
  double promise(const Results& results, std::size_t place) const {
    const auto at = static_cast<Eigen::Index>(place);
    return expected_improvement(best_expected(results), surrogate_.mean()[at],
                                surrogate_.variance()[at]);
  }

  const Surrogate& surrogate() const { return surrogate_; }

 private:
  double best_expected(const Results& results) const {
    double best = results.best;
    if (!results.pending.empty()) {
      best = std::min(best, double{surrogate_.means(results.pending).minCoeff()});
    }
    if (std::isfinite(best) || surrogate_.scored().empty()) return best;
    return surrogate_.mean().minCoeff();  // nothing has come out yet: what is expected of the best
  }

  void add(std::span<const std::size_t> points) {
    for (const std::size_t point : points) {
      if (!known_.insert(point).second) continue;
      observed_.push_back(point);
      surrogate_.observe(point);
    }
  }

  // NaN stays NaN.
  std::vector<double> values(const Results& results) const {
    std::vector<double> all;
    for (const std::size_t point : observed_) all.push_back(results.value_of(point));
    if (results.none_valid()) return all;
    if (has_prior_) {
      squeeze_errors(all, results.best);
    } else if (const double c = constants_.squeeze; c > 0) {
      for (double& value : all) value = results.best + c * std::log1p((value - results.best) / c);
    }
    return all;
  }

  // Of slow results, how far off the prior was, from what it was off in the middle.
  void squeeze_errors(std::vector<double>& values, double best) const {
    const auto error = [&](std::size_t i) {
      return values[i] - surrogate_.prior_mean(observed_[i]);
    };
    std::vector<double> errors;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(values[i])) errors.push_back(error(i));
    }
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    const double c = constants_.prior_squeeze;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] > best + c)) continue;
      const double off = error(i) - *middle;
      const double seen = std::copysign(c * std::log1p(std::abs(off) / c), off);
      values[i] = std::max(best + c, values[i] + seen - off);
    }
  }

  const ModelSearchConstants constants_;
  const bool has_prior_;
  Surrogate surrogate_;
  std::vector<std::size_t> observed_;  // in the surrogate's order
  std::unordered_set<std::size_t> known_;
  std::size_t fitted_at_ = 0, followed_ = 0;  // results then
};

class Model : public Strategy {
 public:
  Model(const SearchSpace& space, std::vector<double> prior_us, std::uint64_t seed,
        const ModelSearchConstants& constants)
      : space_(space),
        constants_(constants),
        prior_(log_prior(std::move(prior_us), space.size())),
        belief_(space, prior_, belief_constants()),
        doubt_(space, {}, doubting(constants)),
        random_(seed),
        untried_(space.size()) {
    if (prior_.empty()) return;
    prior_order_.resize(space.size());
    std::iota(prior_order_.begin(), prior_order_.end(), std::size_t{0});
    const auto end = prior_order_.begin() +
                     static_cast<std::ptrdiff_t>(std::min(constants.pool / 4, space.size()));
    std::partial_sort(prior_order_.begin(), end, prior_order_.end(),
                      [&](std::size_t a, std::size_t b) {
                        return std::pair(prior_[a], a) < std::pair(prior_[b], b);
                      });
    prior_order_.erase(end, prior_order_.end());
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
    if (results_.since_best == 0 && !prior_.empty()) likely_neighbours_ = likely_neighbours();
  }

  std::size_t fits() const override { return fits_; }

  // The greater of what a surrogate expects, trusted as far as it kept its promises so far, and
  // half of what as many results brought just now: a surrogate that is wrong is sure of itself. The
  // surrogate is fitted to the results alone, so that those of an earlier run, told in its order,
  // are judged as they were in that run.
  std::optional<double> expected_gain(std::size_t tries) override {
    const std::size_t told = results_.points.size(), window = constants_.gain_window;
    if (told <= window || !std::isfinite(bests_[told - 1 - window])) return std::nullopt;
    Belief belief(space_, prior_, belief_constants());
    const double trust = promises(belief).kept(constants_.gain_trust);
    belief.refit(results_, pool(belief));
    const std::vector<std::size_t> places =
        belief.most_promising(results_, untried_, std::min(tries, constants_.gain_points));
    if (places.empty()) return 0;
    const double share = std::min(1.0, static_cast<double>(tries) / static_cast<double>(window));
    const double lately = bests_[told - 1 - window] - bests_[told - 1];
    const double gain =
        std::max(trust * belief.expected_gain(results_, places), 0.5 * share * lately);
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
                   unasked_neighbours()};
  }

  // Trusted as far as earlier promises were kept, as outlook() has it.
  std::optional<double> gain_under_way() const override {
    if (results_.none_valid()) return std::nullopt;
    if (results_.pending.empty()) return 0;
    const auto& pending = results_.pending;
    const auto neighbour = std::find_first_of(pending.begin(), pending.end(),
                                              likely_neighbours_.begin(), likely_neighbours_.end());
    if (neighbour != pending.end()) return std::nullopt;
    Results told = results_;
    told.pending.clear();
    Belief belief(space_, prior_, belief_constants());
    belief.refit(told, results_.pending);
    std::vector<std::size_t> places(results_.pending.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    return trust_in_promises() * belief.expected_gain(told, places);
  }

 private:
  double trust_in_promises() const {
    return std::min(1.0, promises_.kept(constants_.outlook_trust));
  }

  ModelSearchConstants belief_constants() const {
    return prior_.empty() ? constants_ : believing(constants_);
  }

  std::size_t next() {
    const std::size_t asked = space_.size() - untried_.size();
    const bool started =
        prior_.empty() ? asked >= constants_.start && !results_.none_valid() : asked > 0;
    if (!started && !prior_.empty()) return prior_order_.front();
    if (!started) return asked == 0 ? centre() : far_point();
    const bool is_stalled = results_.since_best >= constants_.stall;
    if (is_stalled) {
      for (const std::size_t neighbour : likely_neighbours_) {
        if (untried_.contains(neighbour)) return neighbour;
      }
    }
    const bool doubtful = is_stalled && ++doubts_ % 2 == 0;
    std::optional<std::size_t> point;
    if (doubtful && prior_.empty()) point = elite_neighbour();
    if (!point) point = promising(doubtful && !prior_.empty() ? doubt_ : belief_);
    return point ? *point : untried_.draw(random_);
  }

  // Of the best point: those that differ in one parameter and are not expected to be much slower,
  // the fastest by the prior first. The surrogate takes them for as fast as the best, and so seldom
  // asks for them.
  std::vector<std::size_t> likely_neighbours() const {
    std::vector<std::size_t> near = space_.neighbours(results_.best_point);
    const double most = prior_[results_.best_point] + constants_.likely_neighbour;
    std::erase_if(near, [&](std::size_t point) { return prior_[point] > most; });
    std::sort(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(prior_[a], a) < std::pair(prior_[b], b);
    });
    return near;
  }

  std::size_t unasked_neighbours() const {
    return static_cast<std::size_t>(
        std::count_if(likely_neighbours_.begin(), likely_neighbours_.end(),
                      [&](std::size_t point) { return untried_.contains(point); }));
  }

  std::optional<std::size_t> promising(Belief& belief) {
    update(belief);
    const std::vector<std::size_t> places = belief.most_promising(results_, untried_, kNextTries);
    if (places.empty()) return std::nullopt;
    const std::size_t point = belief.surrogate().scored()[places[0]];
    if (&belief == &belief_ && !results_.none_valid()) {
      if (next_gains_count_ == 0) promises_ = promises_of_results();
      next_gains_[next_gains_count_++ % next_gains_.size()] =
          belief.expected_gain(results_, places);
      promised_[point] = belief.promise(results_, places[0]);
    }
    return point;
  }

  // Of results that were told before the first ask: an earlier run's, or a few of the first.
  Promises promises_of_results() const {
    Belief belief(space_, prior_, belief_constants());
    return promises(belief);
  }

  // What the surrogate promises of the last results, led through them in the order told, and what
  // they brought.
  Promises promises(Belief& belief) const {
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
        if (belief.wants_refit(past)) {
          belief.refit(past, judged);
        } else {
          belief.follow(past);
        }
        promises.add(belief.promise(past, place), past.gain_of(value));
      }
      past.add(judged[place], value);
    }
    return promises;
  }

  void update(Belief& belief) {
    if (belief.wants_refit(results_)) {
      belief.refit(results_, pool(belief));
      ++fits_;
    } else {
      belief.follow(results_);
    }
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
  std::vector<std::size_t> pool(const Belief& belief) {
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
    for (const std::size_t place : belief.most_promising(results_, untried_, quarter)) {
      take(belief.surrogate().scored()[place]);
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
  Belief belief_;
  Belief doubt_;  // without the prior
  std::mt19937_64 random_;
  Untried untried_;
  Results results_;
  std::vector<double> bests_;  // after each result
  std::vector<std::size_t> likely_neighbours_;
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
  return std::make_unique<Model>(space, std::move(prior_us), seed, constants);
}

}  // namespace gemm_tune
