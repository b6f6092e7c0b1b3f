// SPDX-License-Identifier: Apache-2.0
#include "search/space/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "core/error.h"
#include "core/in_parallel.h"

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
// them lie subtrees in which only ProblemVeto::here differs from problem to problem. They do not
// depend on each other, so that several threads grow those that are to be remembered.
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
    delay_params();
    count_points();
    for (std::size_t i = 0; i < family_rules_.size(); ++i) {
      rules_[deepest_read(family_rules_[i])].push_back(i);
    }
    end_ = of_problem_;
    while (end_ < order_.size() && !is_end(++end_)) {
    }
    if (memory != nullptr) known_ = &memory->known[{&family, choices_}];
  }

  void run(std::size_t threads) {
    if (known_ != nullptr) grow_unknown(threads);
    KnownConfig root = unchosen();
    descend(root, 0, of_problem_, first_, broken_, [&](Rank rank) {
      if (known_ != nullptr) return take(known_->at(rank - first_), rank);
      Subtree subtree;
      grow(subtree, root, rank);
      take(subtree, rank);
    });
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

  // A choice of the parameters from end_ on that breaks no rule, and what it adds to a rank.
  struct End {
    Rank distance;
    std::vector<int> values;
  };

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

  // Within subtrees a parameter is chosen no earlier than the first rule that reads it can be
  // judged: it would multiply the work on those between.
  void delay_params() {
    std::vector<std::size_t> judged(order_.size(), order_.size());
    for (const FamilyRule& rule : family_rules_) {
      const std::size_t depth = deepest_read(rule);
      for (const std::size_t param : rule.reads) judged[param] = std::min(judged[param], depth);
    }
    std::stable_sort(order_.begin() + static_cast<std::ptrdiff_t>(of_problem_), order_.end(),
                     [&](std::size_t a, std::size_t b) { return judged[a] < judged[b]; });
  }

  // Whether no rule that reads a parameter from this depth on reads one of the subtree's before it:
  // of a subtree the choices from here on are then the same, whatever those before are.
  bool is_end(std::size_t begin) const {
    return std::none_of(family_rules_.begin(), family_rules_.end(), [&](const FamilyRule& rule) {
      const auto is_read = [&](std::size_t depth) {
        const std::size_t param = order_[depth];
        return choices_[param].size() > 1 &&
               std::count(rule.reads.begin(), rule.reads.end(), param) > 0;
      };
      bool before = false, after = false;
      for (std::size_t depth = of_problem_; depth < order_.size(); ++depth) {
        (depth < begin ? before : after) |= is_read(depth);
      }
      return before && after;
    });
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
  void descend(KnownConfig& point, std::size_t depth, std::size_t end, Rank rank,
               std::vector<std::uint64_t>& broken, const Visit& visit) const {
    if (depth == end) {
      visit(rank);
      return;
    }
    const std::size_t param = order_[depth];
    for (const int value : choices_[param]) {
      point.values[param] = value;
      if (const std::optional<std::size_t> rule = broken_at(depth, point)) {
        broken[*rule] += below_[depth];
      } else {
        descend(point, depth + 1, end, rank, broken, visit);
      }
      rank += strides_[param];
    }
    point.values[param] = unchosen(param);
  }

  // Of the problem's parameters all are chosen in `point`, whose rank it is.
  void grow(Subtree& subtree, KnownConfig& point, Rank rank) const {
    std::vector<std::uint64_t> broken(family_rules_.size()), broken_by_ends(family_rules_.size());
    std::vector<End> ends;
    descend(point, end_, order_.size(), 0, broken_by_ends, [&](Rank distance) {
      ends.push_back({distance, {}});
      for (std::size_t depth = end_; depth < order_.size(); ++depth) {
        ends.back().values.push_back(point.values[order_[depth]]);
      }
    });
    const auto visit = [&](Rank before_end) {
      for (std::size_t i = 0; i < broken.size(); ++i) broken[i] += broken_by_ends[i];
      for (const End& end : ends) {
        set_end(point, end.values);
        add_point(subtree, point, before_end + end.distance - rank);
      }
      for (std::size_t depth = end_; depth < order_.size(); ++depth) {
        point.values[order_[depth]] = unchosen(order_[depth]);
      }
    };
    descend(point, of_problem_, end_, rank, broken, visit);
    for (auto& [key, kind] : subtree.kinds) std::sort(kind.points.begin(), kind.points.end());
    for (std::size_t i = 0; i < broken.size(); ++i) {
      if (broken[i] > 0) subtree.broken.emplace_back(i, broken[i]);
    }
  }

  void set_end(KnownConfig& point, const std::vector<int>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) point.values[order_[end_ + i]] = values[i];
  }

  // Grows what this problem needs and none before it did.
  void grow_unknown(std::size_t threads) {
    struct Unknown {
      Rank rank;
      std::vector<int> values;
      Subtree subtree;
    };
    std::vector<Unknown> all;
    std::vector<std::uint64_t> ignored(family_rules_.size());
    KnownConfig root = unchosen();
    descend(root, 0, of_problem_, first_, ignored, [&](Rank rank) {
      if (!known_->contains(rank - first_)) all.push_back({rank, root.values, {}});
    });
    in_parallel(threads, all.size(), [&](std::size_t i) {
      KnownConfig point = unchosen();
      point.values = all[i].values;
      grow(all[i].subtree, point, all[i].rank);
    });
    for (Unknown& one : all) known_->emplace(one.rank - first_, std::move(one.subtree));
  }

  // Parameters not chosen yet hold something positive, as rules expect.
  int unchosen(std::size_t param) const {
    return choices_[param].size() == 1 ? choices_[param].front() : 1;
  }

  KnownConfig unchosen() const {
    KnownConfig point;
    point.family = &family_;
    for (std::size_t i = 0; i < choices_.size(); ++i) point.values.push_back(unchosen(i));
    return point;
  }

  std::optional<std::size_t> broken_at(std::size_t depth, const KnownConfig& point) const {
    for (const std::size_t rule : rules_[depth]) {
      if (family_rules_[rule].broken(point.values)) return rule;
    }
    return std::nullopt;
  }

  void add_point(Subtree& subtree, KnownConfig& point, std::uint64_t distance) const {
    std::vector<int> kind;
    if (veto_.always || veto_.kind) {
      point.traits = family_.traits(point.values);
      point.recipe = launch_recipe(point.traits);
      const auto reason = veto_.always ? veto_.always(point) : std::nullopt;
      if (reason) {
        ++subtree.vetoed[*reason];
        return;
      }
      if (veto_.kind) kind = veto_.kind(point);
    }
    const auto [at, is_new] = subtree.kinds.try_emplace(std::move(kind));
    if (is_new) at->second.example = point;
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
  std::size_t end_ = 0;                          // the depth from which on is_end() holds
  std::vector<std::vector<std::size_t>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;             // raw points that share a prefix, by depth
  std::vector<std::uint64_t> strides_;           // of a rank, by parameter
  std::vector<std::uint64_t> broken_;            // raw points, by the rule
  std::map<std::string_view, std::uint64_t> vetoed_;
  SpaceMemory::Subtrees* known_ = nullptr;
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
bool is_searched(SearchScope searched, const Problem& problem, int vec, bool in_one_order) {
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
    case SearchScope::in_one_order:
      return in_one_order;
  }
  throw Error("a place to search outside the closed list");
}

}  // namespace

std::vector<FixedParam> settled_params(const Problem& problem, bool in_one_order) {
  Specialisation settled = {problem.layout, alignment_class(problem), false, problem.signature};
  settled.batch_kind = problem.batch_kind;
  // Copies with aligned rows allow wider accesses: then both are the search's to choose.
  const auto may_repack = [&](const KernelFamily& family) {
    if (problem.batch != 1 || problem.batch_kind != BatchKind::strided) return false;
    const Alignments aligned = alignments(problem);
    const bool stores_any_d = std::any_of(
        family.params.begin(), family.params.end(),
        [](const ParamSpec& param) { return param.searched == SearchScope::where_d_is_unaligned; });
    const int widest =
        stores_any_d ? kWidestAccessBytes / bytes_of(problem.signature.a) : aligned.cd;
    return std::min(aligned.a, aligned.b) < widest;
  };
  const auto is_settled = [](const KernelFamily& family, bool repacks, Role role) {
    return role == Role::transposed_a || role == Role::transposed_b || is_of_signature(role) ||
           role == Role::batch_kind || (role == Role::repack && !repacks) ||
           (role == Role::vector_width && family.is_fastest_at_widest_vec && !repacks);
  };
  std::vector<FixedParam> params;
  for (const KernelFamily* family : families_of(problem.signature)) {
    const bool repacks = may_repack(*family);
    for (const ParamSpec& param : family->params) {
      const int widths = differing_alignments(problem);
      if (!is_searched(param.searched, problem, settled.vec, in_one_order)) {
        params.push_back({param.name, param.default_value.value(), family});
      }
      // Wider accesses where an operand's rows allow them, beside the same for all.
      if (param.role == Role::vector_widths && widths != 0) {
        params.push_back({param.name, param.default_value.value(), family, widths});
      }
      if (!is_settled(*family, repacks, param.role)) continue;
      params.push_back({param.name, value_of(settled, param.role).value(), family});
    }
  }
  return params;
}

namespace {

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const ProblemVeto& veto, const Sampling& sampling,
                const FurtherRules& further_rules, SpaceMemory* memory, std::size_t threads) {
  Space space;
  Sample sample(sampling);
  std::vector<Enumeration> parts;
  std::vector<Rank> ends;
  for (const KernelFamily* family : families) {
    parts.emplace_back(*family, fixed, veto, further_rules, space, sample, memory).run(threads);
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
                   nullptr, 1);
}

Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const ProblemVeto& veto, const Sampling& sampling,
                const FurtherRules& further_rules, SpaceMemory& memory, std::size_t threads) {
  return enumerate(families, fixed, veto, sampling, further_rules, &memory, threads);
}

}  // namespace gemm_tune
