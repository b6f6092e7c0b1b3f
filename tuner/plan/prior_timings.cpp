// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/prior_timings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

constexpr int kMostSms = 4096;

// Of likely_fastest(): the most rows that it reads in all and of a source, a hundred taking some 2
// ms; by which power of its likeness a source weighs; and what the middle of all corrections weighs
// beside sources that are not alike at all. Chosen by leaving each of five recorded sweeps of one
// family out: the best of eight reaches .98 of the optimum in the mean, with 32 rows of a source
// .92 (docs/notes/search/search_cost.md).
constexpr std::size_t kMostLeadingRows = 1024, kMostRowsOfASource = 128;
constexpr double kLeadingPower = 2, kLeadingDoubt = 0.5;

// A source that is less alike proposes nothing (likeness()): six octaves in all, or three with
// another alignment. Of the first 16 tries at 2048x768x3072 twelve were the winners of 96 products
// of 128x64x128, a fourth slower than the static model's own, and the search ended 3 % behind
// (docs/notes/search/repeatability.md).
constexpr double kLeastLikeness = 0.125;

// A source whose order of configs is expected here too: another GPU of the architecture at this
// problem, or this GPU at a problem within half an octave (likeness() in
// search/strategy/transfer.h).
constexpr double kAlmostAlike = 0.85;

// Only the target's own figures are known. Another GPU gets those of its architecture's typical
// card.
std::optional<DeviceSpec> spec_of(const DeviceKey& key, const DeviceSpec& target) {
  if (key == device_key(target)) return target;
  if (key.sm_count < 1 || key.sm_count > kMostSms) return std::nullopt;  // no GPU has that many
  std::optional<DeviceSpec> spec = find_device_spec(key.arch);
  if (spec) {
    spec->name = key.name;
    spec->sm_count = key.sm_count;
  }
  return spec;
}

// Derives what corresponds here to configs of other problems.
class Counterparts {
 public:
  explicit Counterparts(const Problem& problem)
      : layout_(problem.layout),
        signature_(problem.signature),
        batch_kind_(problem.batch_kind),
        widest_(alignment_class(problem)),
        widths_(differing_alignments(problem)) {}

  // The first of the config's specialisations for the problem for which is_here(values) holds.
  template <class IsHere>
  auto find(const KnownConfig& config, const Problem& source, const IsHere& is_here) const
      -> decltype(is_here(config.values)) {
    const KernelFamily& family = *config.family;
    Specialisation here = config.specialisation();
    here.layout = layout_;
    here.signature = signature_;
    here.batch_kind = batch_kind_;
    const bool was_widest = here.vec == alignment_class(source);
    const bool is_widest = was_widest || family.is_fastest_at_widest_vec;
    here.vec = is_widest ? widest_ : std::min(here.vec, widest_);
    // What was as wide as each operand allowed is so here, where the space has it.
    const bool was_uniform_by_choice = here.vecs == 0 && differing_alignments(source) != 0;
    const int wanted = was_uniform_by_choice || here.vec != widest_ ? 0 : widths_;
    for (const int vecs : {wanted, 0}) {
      here.vecs = vecs;
      for (const bool predicated : {here.predicated, !here.predicated}) {
        here.predicated = predicated;
        if (auto found = is_here(family.specialised(config.values, here))) return found;
      }
    }
    return {};
  }

 private:
  Layout layout_;
  Signature signature_;
  BatchKind batch_kind_;
  int widest_, widths_;
};

// Finds the points that correspond to configs of other problems.
class PointsThere {
 public:
  PointsThere(const PointIndex& index, const Problem& problem)
      : index_(index), counterparts_(problem) {}

  struct Found {
    std::size_t point;
    bool is_itself;
  };

  std::optional<Found> find(const KnownConfig& config, const Problem& source) const {
    const auto is_here = [&](const std::vector<int>& values) -> std::optional<Found> {
      const auto point = index_.find(*config.family, values);
      return point ? std::optional(Found{*point, values == config.values}) : std::nullopt;
    };
    return counterparts_.find(config, source, is_here);
  }

 private:
  const PointIndex& index_;
  Counterparts counterparts_;
};

// The rows of one device and problem, from `begin` to the end of the list.
std::span<const TimedConfig> rows_of_source(std::span<const TimedConfig> rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.size() && rows[end].device == rows[begin].device &&
         rows[end].problem == rows[begin].problem) {
    ++end;
  }
  return rows.subspan(begin, end - begin);
}

// rows: all of one device and problem.
std::vector<std::pair<std::size_t, double>> log_ratios(std::span<const TimedConfig> rows,
                                                       const DeviceSpec& source,
                                                       const PointsThere& points) {
  std::vector<std::pair<std::size_t, double>> ratios, others;
  std::unordered_set<std::size_t> timed_themselves;
  for (const TimedConfig& row : rows) {
    const KnownConfig config = check_config(parse_config(row.config));
    const auto found = points.find(config, row.problem);
    const double ratio =
        std::log(row.median_us / predict(config.traits, row.problem, source).time_us);
    if (!found || !std::isfinite(ratio)) continue;
    if (found->is_itself) timed_themselves.insert(found->point);
    (found->is_itself ? ratios : others).emplace_back(found->point, ratio);
  }
  for (const auto& one : others) {
    if (!timed_themselves.contains(one.first)) ratios.push_back(one);
  }
  return ratios;
}

}  // namespace

std::vector<PriorTimings> prior_timings(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                        const Problem& problem, const PointIndex& points) {
  std::vector<PriorTimings> found;
  if (rows.empty()) return found;
  const PointsThere there(points, problem);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::span<const TimedConfig> its = rows_of_source(rows, begin);
    begin += its.size();
    const std::optional<DeviceSpec> source = spec_of(its[0].device, device);
    if (!source) continue;
    PriorTimings one{its[0].device, its[0].problem, {}};
    one.evidence.likeness = likeness(one.problem, problem) * likeness(*source, device);
    one.evidence.log_ratios = log_ratios(its, *source, there);
    if (one.evidence.log_ratios.size() >= kFewestTimings) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const PriorTimings& a, const PriorTimings& b) {
    return a.evidence.likeness > b.evidence.likeness;
  });
  if (found.size() > kMostPriorTimings) found.erase(found.begin() + kMostPriorTimings, found.end());
  return found;
}

namespace {

// A source of timings, and its fastest configs.
struct Leading {
  double likeness;
  DeviceSpec device;
  std::vector<const TimedConfig*> fastest;
};

// Those that are alike enough, the likest first.
std::vector<Leading> leading_sources(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                     const Problem& problem) {
  std::vector<Leading> sources;
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::span<const TimedConfig> its = rows_of_source(rows, begin);
    begin += its.size();
    const std::optional<DeviceSpec> there = spec_of(its[0].device, device);
    if (!there) continue;
    Leading one{likeness(its[0].problem, problem) * likeness(*there, device), *there, {}};
    if (one.likeness < kLeastLikeness) continue;
    for (const TimedConfig& row : its) one.fastest.push_back(&row);
    const auto end = one.fastest.begin() +
                     static_cast<std::ptrdiff_t>(std::min(kMostRowsOfASource, one.fastest.size()));
    std::partial_sort(one.fastest.begin(), end, one.fastest.end(),
                      [](const TimedConfig* a, const TimedConfig* b) {
                        return std::pair(a->median_us, a->config) <
                               std::pair(b->median_us, b->config);
                      });
    one.fastest.erase(end, one.fastest.end());
    sources.push_back(std::move(one));
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Leading& a, const Leading& b) { return a.likeness > b.likeness; });
  return sources;
}

}  // namespace

std::vector<KnownConfig> likely_fastest(
    std::span<const TimedConfig> rows, const DeviceSpec& device, const Problem& problem,
    std::size_t most, const std::function<bool(const KnownConfig&)>& is_candidate) {
  struct Estimate {
    KnownConfig config;
    double weights = 0, weighted = 0, likest = 0;
  };
  std::map<std::string, Estimate> estimates;  // by the config's text
  const Counterparts counterparts(problem);
  std::size_t left = kMostLeadingRows;
  for (const Leading& source : leading_sources(rows, device, problem)) {
    const double weight = std::pow(source.likeness, kLeadingPower);
    for (const TimedConfig* const row : source.fastest) {
      if (left == 0) break;
      --left;
      const KnownConfig config = check_config(parse_config(row->config));
      const double ratio =
          std::log(row->median_us / predict(config.traits, row->problem, source.device).time_us);
      const auto here = counterparts.find(
          config, row->problem, [&](const std::vector<int>& values) -> std::optional<KnownConfig> {
            if (config.family->reject(values)) return std::nullopt;
            KnownConfig one = known_config(*config.family, values);
            return is_candidate(one) ? std::optional(std::move(one)) : std::nullopt;
          });
      if (!here || !std::isfinite(ratio)) continue;
      Estimate& estimate =
          estimates.try_emplace(to_string(here->config()), Estimate{*here}).first->second;
      estimate.likest = std::max(estimate.likest, source.likeness);
      estimate.weights += weight;
      estimate.weighted += weight * ratio;
    }
  }
  std::vector<double> ratios;
  for (const auto& [text, one] : estimates) ratios.push_back(one.weighted / one.weights);
  if (ratios.empty()) return {};
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  std::vector<std::pair<double, const KnownConfig*>> order;
  for (const auto& [text, one] : estimates) {
    const double doubt = one.likest >= kAlmostAlike ? 0 : kLeadingDoubt * (1 - one.likest);
    const double correction = (one.weighted + doubt * *middle) / (one.weights + doubt);
    const double us = predict(one.config.traits, problem, device).time_us;
    if (std::isfinite(us) && us > 0) order.emplace_back(std::log(us) + correction, &one.config);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  order.resize(std::min(order.size(), most));
  std::vector<KnownConfig> leaders;
  for (const auto& [log_us, config] : order) leaders.push_back(*config);
  return leaders;
}

}  // namespace gemm_tune
