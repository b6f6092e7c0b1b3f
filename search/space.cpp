// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace gemm_tune {
namespace {

// The number of a raw point among those of all families, the last parameter varying fastest.
using Rank = std::uint64_t;

// The first points that are offered and then, by Vitter's algorithm R (1985), an even sample of
// all.
class Sample {
 public:
  explicit Sample(const Sampling& sampling) : most_(sampling.most), random_(sampling.seed) {}

  void offer(Rank point) {
    ++offered_;
    if (points_.size() < most_) {
      points_.push_back(point);
    } else if (const std::uint64_t place = random_() % offered_; place < most_) {
      points_[place] = point;
    }
  }

  std::uint64_t offered() const { return offered_; }

  // In ascending order.
  std::vector<Rank> take() {
    std::sort(points_.begin(), points_.end());
    return std::move(points_);
  }

 private:
  std::size_t most_;
  std::mt19937_64 random_;
  std::uint64_t offered_ = 0;
  std::vector<Rank> points_;
};

// Enumerates one family depth first, a parameter per level. Those that the problem has a say in
// come first: what it allows of them is soon known, and most of the tree never visited.
class Enumeration {
 public:
  Enumeration(const KernelFamily& family, std::span<const FixedParam> fixed, const Veto& veto,
              const FurtherRules& further_rules, Space& space, Sample& sample)
      : family_(family),
        veto_(veto),
        space_(space),
        sample_(sample),
        first_(space.enumerated),
        family_rules_(family.rules),
        rules_(family.params.size()),
        below_(family.params.size()),
        strides_(family.params.size()) {
    if (further_rules) {
      for (FamilyRule& rule : further_rules(family)) family_rules_.push_back(std::move(rule));
    }
    broken_.resize(family_rules_.size());
    for (const ParamSpec& param : family.params) choices_.push_back(param.values);
    for (const FixedParam& one : fixed) {
      if (one.only_of != nullptr && one.only_of != &family) continue;
      const auto param = family.find_param(one.name);
      if (!param) continue;
      std::erase_if(choices_[*param], [&](int value) { return value != one.value; });
      if (one.or_value) choices_[*param].push_back(*one.or_value);
    }
    order_.resize(choices_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_partition(order_.begin(), order_.end(), [&](std::size_t param) {
      return family.params[param].role != Role::tunable || family.params[param].only_with_vec > 0;
    });
    std::uint64_t product = 1;
    for (std::size_t param = choices_.size(); param-- > 0;) {
      strides_[param] = product;
      product *= choices_[param].size();
    }
    space_.enumerated += product;
    std::uint64_t below = 1;
    for (std::size_t depth = order_.size(); depth-- > 0;) {
      below_[depth] = below;
      below *= choices_[order_[depth]].size();
    }
    // A rule can be judged as soon as the last parameter it reads has a value, and one without a
    // choice has it from the start.
    for (std::size_t i = 0; i < family_rules_.size(); ++i) {
      std::size_t deepest = 0;
      for (std::size_t depth = 0; depth < order_.size(); ++depth) {
        const std::vector<std::size_t>& reads = family_rules_[i].reads;
        const bool is_read = std::find(reads.begin(), reads.end(), order_[depth]) != reads.end();
        if (is_read && choices_[order_[depth]].size() > 1) deepest = depth;
      }
      rules_[deepest].push_back(i);
    }
    point_.family = &family;
    for (std::size_t i = 0; i < choices_.size(); ++i) point_.values.push_back(unchosen(i));
  }

  void run() {
    descend(0, first_);
    for (std::size_t i = 0; i < broken_.size(); ++i) {
      if (broken_[i] > 0) space_.rejected[family_rules_[i].reason] += broken_[i];
    }
    for (const auto& [reason, count] : vetoed_) space_.rejected[std::string(reason)] += count;
  }

  // The values of one of the family's raw points.
  void write_values(Rank rank, std::vector<int>& values) const {
    values.resize(choices_.size());
    for (std::size_t param = 0; param < choices_.size(); ++param) {
      values[param] = choices_[param][(rank - first_) / strides_[param] % choices_[param].size()];
    }
  }

 private:
  void descend(std::size_t depth, Rank rank) {
    if (depth == order_.size()) {
      accept(rank);
      return;
    }
    const std::size_t param = order_[depth];
    for (const int value : choices_[param]) {
      point_.values[param] = value;
      if (const std::optional<std::size_t> rule = broken_at(depth)) {
        broken_[*rule] += below_[depth];
      } else {
        descend(depth + 1, rank);
      }
      rank += strides_[param];
    }
    point_.values[param] = unchosen(param);
  }

  // Parameters not chosen yet hold something positive, as rules expect.
  int unchosen(std::size_t param) const {
    return choices_[param].size() == 1 ? choices_[param].front() : 1;
  }

  std::optional<std::size_t> broken_at(std::size_t depth) const {
    for (const std::size_t rule : rules_[depth]) {
      if (family_rules_[rule].broken(point_.values)) return rule;
    }
    return std::nullopt;
  }

  void accept(Rank rank) {
    if (veto_) {
      point_.traits = family_.traits(point_.values);
      point_.recipe = launch_recipe(point_.traits);
      if (const auto reason = veto_(point_)) {
        ++vetoed_[*reason];
        return;
      }
    }
    sample_.offer(rank);
  }

  const KernelFamily& family_;
  const Veto& veto_;
  Space& space_;
  Sample& sample_;
  const Rank first_;  // of the family's raw points
  std::vector<FamilyRule> family_rules_;
  std::vector<std::vector<int>> choices_;        // of each parameter
  std::vector<std::size_t> order_;               // of parameters, by depth
  std::vector<std::vector<std::size_t>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;             // raw points that share a prefix, by depth
  std::vector<std::uint64_t> strides_;           // of a rank, by parameter
  std::vector<std::uint64_t> broken_;            // raw points, by the rule
  std::map<std::string_view, std::uint64_t> vetoed_;
  KnownConfig point_;  // the one at hand: its values are set on the way down
};

// Whether so many shares along K are likely that it matters how they are added up. Where operands
// are aligned differently, the space is several times as large: then only if they surely are.
bool has_large_k(const Problem& problem, bool is_aligned_differently) {
  const auto k = static_cast<double>(problem.K);
  const double mn = static_cast<double>(problem.M) * static_cast<double>(problem.N);
  return k * k >= (is_aligned_differently ? 32 : 2) * mn;
}

}  // namespace

std::vector<FixedParam> settled_params(const Problem& problem) {
  const Specialisation settled = {problem.layout, alignment_class(problem), false,
                                  problem.signature};
  // Copies with aligned rows allow wider accesses: then both are the search's to choose.
  const bool may_repack = problem.batch == 1 && repacked_class(problem) > alignment_class(problem);
  const auto is_settled = [may_repack](const KernelFamily& family, Role role) {
    return role == Role::transposed_a || role == Role::transposed_b || role == Role::type_ab ||
           role == Role::type_cd || (role == Role::repack && !may_repack) ||
           (role == Role::vector_width && family.is_fastest_at_widest_vec && !may_repack);
  };
  std::vector<FixedParam> params;
  for (const KernelFamily* family : families_of(problem.signature)) {
    for (const ParamSpec& param : family->params) {
      const int widths = differing_alignments(problem);
      const bool is_large_k = has_large_k(problem, widths != 0);
      // Not worth a choice where wider accesses are legal, or where operands are aligned alike.
      if ((param.only_with_vec > 0 && param.only_with_vec < settled.vec) ||
          (param.only_searched_with_vector_widths && widths == 0) ||
          (param.only_searched_with_large_k && !is_large_k)) {
        params.push_back({param.name, param.unless_named.value(), family});
      }
      // Wider accesses where an operand's rows allow them, beside the same for all.
      if (param.role == Role::vector_widths && widths != 0) {
        params.push_back({param.name, param.unless_named.value(), family, widths});
      }
      if (!is_settled(*family, param.role)) continue;
      params.push_back({param.name, value_of(settled, param.role).value(), family});
    }
  }
  return params;
}

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const Veto& veto, const Sampling& sampling, const FurtherRules& further_rules) {
  Space space;
  Sample sample(sampling);
  std::vector<Enumeration> parts;
  std::vector<Rank> ends;
  for (const KernelFamily* family : families) {
    parts.emplace_back(*family, fixed, veto, further_rules, space, sample).run();
    ends.push_back(space.enumerated);
  }
  space.valid = sample.offered();
  std::size_t part = 0;
  std::vector<int> values;
  for (const Rank rank : sample.take()) {
    while (rank >= ends[part]) ++part;
    parts[part].write_values(rank, values);
    space.points.add(*families[part], values);
  }
  return space;
}

}  // namespace gemm_tune
