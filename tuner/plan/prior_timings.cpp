// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/prior_timings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "search/model/static_model.h"
#include "search/space/point_index.h"

namespace gemm_tune {
namespace {

constexpr int kMostSms = 4096;

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

// Finds the points that correspond to configs of other problems.
class Counterparts {
 public:
  Counterparts(const ConfigList& points, const Problem& problem)
      : index_(points),
        layout_(problem.layout),
        signature_(problem.signature),
        batch_kind_(problem.batch_kind),
        widest_(alignment_class(problem)),
        widths_(differing_alignments(problem)) {}

  struct Found {
    std::size_t point;
    bool is_itself;
  };

  std::optional<Found> find(const KnownConfig& config, const Problem& source) const {
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
        const std::vector<int> values = family.specialised(config.values, here);
        if (const auto point = index_.find(family, values)) {
          return Found{*point, values == config.values};
        }
      }
    }
    return std::nullopt;
  }

 private:
  PointIndex index_;
  Layout layout_;
  Signature signature_;
  BatchKind batch_kind_;
  int widest_, widths_;
};

// rows: all of one device and problem.
std::vector<std::pair<std::size_t, double>> log_ratios(std::span<const TimedConfig> rows,
                                                       const DeviceSpec& source,
                                                       const Counterparts& counterparts) {
  std::vector<std::pair<std::size_t, double>> ratios, others;
  std::unordered_set<std::size_t> timed_themselves;
  for (const TimedConfig& row : rows) {
    const KnownConfig config = check_config(parse_config(row.config));
    const auto found = counterparts.find(config, row.problem);
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
                                        const Problem& problem, const ConfigList& points) {
  std::vector<PriorTimings> found;
  if (rows.empty()) return found;
  const Counterparts counterparts(points, problem);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const TimedConfig& first = rows[begin];
    while (end < rows.size() && rows[end].device == first.device &&
           rows[end].problem == first.problem) {
      ++end;
    }
    const std::optional<DeviceSpec> source = spec_of(first.device, device);
    if (!source) continue;
    PriorTimings one{first.device, first.problem, {}};
    one.evidence.likeness = likeness(first.problem, problem) * likeness(*source, device);
    one.evidence.log_ratios = log_ratios(rows.subspan(begin, end - begin), *source, counterparts);
    if (one.evidence.log_ratios.size() >= kFewestTimings) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const PriorTimings& a, const PriorTimings& b) {
    return a.evidence.likeness > b.evidence.likeness;
  });
  if (found.size() > kMostPriorTimings) found.erase(found.begin() + kMostPriorTimings, found.end());
  return found;
}

}  // namespace gemm_tune
