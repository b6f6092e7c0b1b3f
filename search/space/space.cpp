// SPDX-License-Identifier: Apache-2.0
#include "search/space/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "core/error.h"

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

// Enumerates one family depth first, a parameter per level. Those that problems have a say in come
// first: what a problem allows of them is soon known, and most of the tree never visited. Below
// them lie subtrees in which only ProblemVeto::here differs from problem to problem.
class Enumeration {
 public:
  // memory: nullptr where nobody will ask again.
  Enumeration(const KernelFamily& family, std::span<const FixedParam> fixed,
              const ProblemVeto& veto, const FurtherRules& further_rules, Space& space,
              Sample& sample, SpaceMemory* memory)
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
    for (const FixedParam& one : fixed) fix(one);
    order_params();
    count_points();
    for (std::size_t i = 0; i < family_rules_.size(); ++i) {
      rules_[deepest_read(family_rules_[i])].push_back(i);
    }
    point_.family = &family;
    for (std::size_t i = 0; i < choices_.size(); ++i) point_.values.push_back(unchosen(i));
    if (memory != nullptr) known_ = &memory->known[{&family, choices_}];
  }

  void run() {
    descend(0, of_problem_, first_, broken_, [&](Rank rank) { take(subtree_at(rank), rank); });
    for (std::size_t i = 0; i < broken_.size(); ++i) {
      if (broken_[i] > 0) space_.rejected[family_rules_[i].reason] += broken_[i];
    }
    for (const auto& [reason, count] : vetoed_) {
      space_.rejected[std::string(reason)] += count;
      space_.vetoed[std::string(reason)] += count;
    }
  }

  // Writes the values of one of the family's raw points over those of another, whose rank is
  // `before`, or of none.
  void write_values(Rank rank, std::optional<Rank> before, std::vector<int>& values) const {
    values.resize(choices_.size());
    Rank rest = rank - first_, rest_before = before.value_or(first_) - first_;
    for (std::size_t param = choices_.size(); param-- > 0;) {
      if (before && rest == rest_before) return;
      const std::vector<int>& choices = choices_[param];
      if (choices.size() == 1) {
        values[param] = choices.front();
        continue;
      }
      values[param] = choices[rest % choices.size()];
      rest /= choices.size();
      rest_before /= choices.size();
    }
  }

 private:
  using Subtree = SpaceMemory::Subtree;

  void fix(const FixedParam& one) {
    if (one.only_of != nullptr && one.only_of != &family_) return;
    const auto param = family_.find_param(one.name);
    if (!param) return;
    std::erase_if(choices_[*param], [&](int value) { return value != one.value; });
    if (one.or_value) choices_[*param].push_back(*one.or_value);
  }

  bool is_of_problem(std::size_t param) const {
    const ParamSpec& spec = family_.params[param];
    if (spec.role != Role::tunable || spec.searched == SearchScope::where_vec_is_1) return true;
    return std::any_of(family_rules_.begin() + std::ptrdiff_t(family_.rules.size()),
                       family_rules_.end(), [&](const FamilyRule& rule) {
                         return std::count(rule.reads.begin(), rule.reads.end(), param) > 0;
                       });
  }

  void order_params() {
    order_.resize(choices_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto others = std::stable_partition(
        order_.begin(), order_.end(), [&](std::size_t param) { return is_of_problem(param); });
    of_problem_ = static_cast<std::size_t>(others - order_.begin());
  }

  // Ranks follow the parameters as they are declared, subtrees the order of the descent.
  void count_points() {
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
  }

  // The depth from which on a rule can be judged: that of the last parameter that it reads and that
  // has a choice.
  std::size_t deepest_read(const FamilyRule& rule) const {
    for (std::size_t depth = order_.size(); depth-- > 0;) {
      const std::size_t param = order_[depth];
      const bool is_read =
          std::find(rule.reads.begin(), rule.reads.end(), param) != rule.reads.end();
      if (is_read && choices_[param].size() > 1) return depth;
    }
    return 0;
  }

  // Chooses the parameters from this depth to the end, in all ways that break no rule, and calls
  // visit(rank) with each. broken: counts the raw points that break one, by the rule.
  template <class Visit>
  void descend(std::size_t depth, std::size_t end, Rank rank, std::vector<std::uint64_t>& broken,
               const Visit& visit) {
    if (depth == end) {
      visit(rank);
      return;
    }
    const std::size_t param = order_[depth];
    for (const int value : choices_[param]) {
      point_.values[param] = value;
      if (const std::optional<std::size_t> rule = broken_at(depth)) {
        broken[*rule] += below_[depth];
      } else {
        descend(depth + 1, end, rank, broken, visit);
      }
      rank += strides_[param];
    }
    point_.values[param] = unchosen(param);
  }

  const Subtree& subtree_at(Rank rank) {
    if (known_ == nullptr) {
      latest_ = {};
      grow(latest_, rank);
      return latest_;
    }
    const auto [at, is_new] = known_->try_emplace(rank - first_);
    if (is_new) grow(at->second, rank);
    return at->second;
  }

  void grow(Subtree& subtree, Rank rank) {
    std::vector<std::uint64_t> broken(family_rules_.size());
    descend(of_problem_, order_.size(), rank, broken,
            [&](Rank point) { add_point(subtree, point - rank); });
    for (std::size_t i = 0; i < broken.size(); ++i) {
      if (broken[i] > 0) subtree.broken.emplace_back(i, broken[i]);
    }
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

  void add_point(Subtree& subtree, std::uint64_t distance) {
    std::vector<int> kind;
    if (veto_.always || veto_.kind) {
      point_.traits = family_.traits(point_.values);
      point_.recipe = launch_recipe(point_.traits);
      const auto reason = veto_.always ? veto_.always(point_) : std::nullopt;
      if (reason) {
        ++subtree.vetoed[*reason];
        return;
      }
      if (veto_.kind) kind = veto_.kind(point_);
    }
    const auto [at, is_new] = subtree.kinds.try_emplace(std::move(kind));
    if (is_new) at->second.example = point_;
    at->second.points.push_back(distance);
  }

  void take(const Subtree& subtree, Rank first) {
    for (const auto& [rule, count] : subtree.broken) broken_[rule] += count;
    for (const auto& [reason, count] : subtree.vetoed) vetoed_[reason] += count;
    for (const auto& [key, kind] : subtree.kinds) {
      if (const auto reason = veto_.here ? veto_.here(kind.example) : std::nullopt) {
        vetoed_[*reason] += kind.points.size();
        continue;
      }
      for (const std::uint64_t distance : kind.points) sample_.offer(first + distance);
    }
  }

  const KernelFamily& family_;
  const ProblemVeto& veto_;
  Space& space_;
  Sample& sample_;
  const Rank first_;  // of the family's raw points
  std::vector<FamilyRule> family_rules_;
  std::vector<std::vector<int>> choices_;        // of each parameter
  std::vector<std::size_t> order_;               // of parameters, by depth
  std::size_t of_problem_ = 0;                   // so many come first
  std::vector<std::vector<std::size_t>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;             // raw points that share a prefix, by depth
  std::vector<std::uint64_t> strides_;           // of a rank, by parameter
  std::vector<std::uint64_t> broken_;            // raw points, by the rule
  std::map<std::string_view, std::uint64_t> vetoed_;
  SpaceMemory::Subtrees* known_ = nullptr;
  Subtree latest_;     // where nothing is remembered
  KnownConfig point_;  // the one at hand: its values are set on the way down
};

// Whether so many shares along K are likely that it matters how they are added up. Where operands
// are aligned differently, the space is several times as large: then only if they surely are.
bool has_large_k(const Problem& problem, bool is_aligned_differently) {
  const auto k = static_cast<double>(problem.K);
  const double mn = static_cast<double>(problem.M) * static_cast<double>(problem.N);
  return k * k >= (is_aligned_differently ? 32 : 2) * mn;
}

// Whether other values than the default value are worth a choice. vec: the widest access that the
// problem allows.
bool is_searched(SearchScope searched, const Problem& problem, int vec) {
  const bool is_aligned_differently = differing_alignments(problem) != 0;
  switch (searched) {
    case SearchScope::everywhere:
      return true;
    case SearchScope::where_vec_is_1:
      return vec == 1;
    case SearchScope::where_vector_widths_may_differ:
      return is_aligned_differently;
    case SearchScope::where_k_is_large:
      return has_large_k(problem, is_aligned_differently);
    case SearchScope::where_d_is_unaligned:
      return std::min(problem.alignment.c, problem.alignment.d) < kWidestAccessBytes;
    case SearchScope::where_long_k_is_across_rows:
      return problem.K > kLongK && (transposes_a(problem.layout) || !transposes_b(problem.layout));
  }
  throw Error("a place to search outside the closed list");
}

}  // namespace

std::vector<FixedParam> settled_params(const Problem& problem) {
  Specialisation settled = {problem.layout, alignment_class(problem), false, problem.signature};
  settled.batch_kind = problem.batch_kind;
  // Copies with aligned rows allow wider accesses: then both are the search's to choose.
  const bool may_repack = problem.batch == 1 && problem.batch_kind == BatchKind::strided &&
                          repacked_class(problem) > alignment_class(problem);
  const auto is_settled = [may_repack](const KernelFamily& family, Role role) {
    return role == Role::transposed_a || role == Role::transposed_b || role == Role::type_ab ||
           role == Role::type_cd || role == Role::accuracy || role == Role::batch_kind ||
           (role == Role::repack && !may_repack) ||
           (role == Role::vector_width && family.is_fastest_at_widest_vec && !may_repack);
  };
  std::vector<FixedParam> params;
  for (const KernelFamily* family : families_of(problem.signature)) {
    for (const ParamSpec& param : family->params) {
      const int widths = differing_alignments(problem);
      if (!is_searched(param.searched, problem, settled.vec)) {
        params.push_back({param.name, param.default_value.value(), family});
      }
      // Wider accesses where an operand's rows allow them, beside the same for all.
      if (param.role == Role::vector_widths && widths != 0) {
        params.push_back({param.name, param.default_value.value(), family, widths});
      }
      if (!is_settled(*family, param.role)) continue;
      params.push_back({param.name, value_of(settled, param.role).value(), family});
    }
  }
  return params;
}

namespace {

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const ProblemVeto& veto, const Sampling& sampling,
                const FurtherRules& further_rules, SpaceMemory* memory) {
  Space space;
  Sample sample(sampling);
  std::vector<Enumeration> parts;
  std::vector<Rank> ends;
  for (const KernelFamily* family : families) {
    parts.emplace_back(*family, fixed, veto, further_rules, space, sample, memory).run();
    ends.push_back(space.enumerated);
  }
  space.valid = sample.offered();
  std::size_t part = 0;
  std::vector<int> values;
  std::optional<Rank> before;
  for (const Rank rank : sample.take()) {
    for (; rank >= ends[part]; before.reset()) ++part;
    parts[part].write_values(rank, before, values);
    space.points.add(*families[part], values);
    before = rank;
  }
  return space;
}

}  // namespace

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const Veto& veto, const Sampling& sampling, const FurtherRules& further_rules) {
  return enumerate(families, fixed, ProblemVeto{veto, nullptr, nullptr}, sampling, further_rules,
                   nullptr);
}

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const ProblemVeto& veto, const Sampling& sampling,
                const FurtherRules& further_rules, SpaceMemory& memory) {
  return enumerate(families, fixed, veto, sampling, further_rules, &memory);
}

}  // namespace gemm_tune
