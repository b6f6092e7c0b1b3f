// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace gemm_tune {
namespace {

// The first points that are offered and then, by Vitter's algorithm R (1985), an even sample of
// all.
class Sample {
 public:
  explicit Sample(const Sampling& sampling) : most_(sampling.most), random_(sampling.seed) {}

  void offer(const KnownConfig& point) {
    const std::uint64_t turn = offered_++;
    if (points_.size() < most_) {
      points_.push_back(point);
      turns_.push_back(turn);
    } else if (const std::uint64_t place = random_() % offered_; place < most_) {
      points_[place] = point;
      turns_[place] = turn;
    }
  }

  std::uint64_t offered() const { return offered_; }

  // In the order offered. There may be too many for a second list of them.
  std::vector<KnownConfig> take() {
    std::vector<std::size_t> from(points_.size());  // where each place's point is now
    std::iota(from.begin(), from.end(), std::size_t{0});
    std::sort(from.begin(), from.end(),
              [this](std::size_t a, std::size_t b) { return turns_[a] < turns_[b]; });
    for (std::size_t start = 0; start < from.size(); ++start) {
      if (from[start] == start) continue;
      KnownConfig first = std::move(points_[start]);
      std::size_t place = start;
      for (std::size_t next = 0; (next = std::exchange(from[place], place)) != start;) {
        points_[place] = std::move(points_[next]);
        place = next;
      }
      points_[place] = std::move(first);
    }
    return std::move(points_);
  }

 private:
  std::size_t most_;
  std::mt19937_64 random_;
  std::uint64_t offered_ = 0;
  std::vector<KnownConfig> points_;
  std::vector<std::uint64_t> turns_;  // of each point
};

// Enumerates one family depth first, a parameter per level.
class Enumeration {
 public:
  Enumeration(const KernelFamily& family, std::span<const FixedParam> fixed, const Veto& veto,
              Space& space, Sample& sample)
      : family_(family),
        veto_(veto),
        space_(space),
        sample_(sample),
        rules_(family.params.size()),
        below_(family.params.size()),
        broken_(family.rules.size()) {
    for (const ParamSpec& param : family.params) choices_.push_back(param.values);
    for (const FixedParam& one : fixed) {
      if (one.only_of != nullptr && one.only_of != &family) continue;
      const auto param = family.find_param(one.name);
      if (!param) continue;
      std::erase_if(choices_[*param], [&](int value) { return value != one.value; });
      if (one.or_value) choices_[*param].push_back(*one.or_value);
    }
    std::uint64_t product = 1;
    for (std::size_t depth = family.params.size(); depth-- > 0;) {
      below_[depth] = product;
      product *= choices_[depth].size();
    }
    space_.enumerated += product;
    // A rule can be judged as soon as the last parameter it reads has a value, and one without a
    // choice has it from the start.
    for (std::size_t i = 0; i < family.rules.size(); ++i) {
      std::size_t depth = 0;
      for (const std::size_t read : family.rules[i].reads) {
        if (choices_[read].size() > 1) depth = read;
      }
      rules_[depth].push_back(i);
    }
    point_.family = &family;
    for (std::size_t i = 0; i < choices_.size(); ++i) point_.values.push_back(unchosen(i));
  }

  void run() {
    descend(0);
    for (std::size_t i = 0; i < broken_.size(); ++i) {
      if (broken_[i] > 0) space_.rejected[family_.rules[i].reason] += broken_[i];
    }
    for (const auto& [reason, count] : vetoed_) space_.rejected[std::string(reason)] += count;
  }

 private:
  void descend(std::size_t depth) {
    if (depth == choices_.size()) {
      accept();
      return;
    }
    for (const int value : choices_[depth]) {
      point_.values[depth] = value;
      if (const std::optional<std::size_t> rule = broken_at(depth)) {
        broken_[*rule] += below_[depth];
      } else {
        descend(depth + 1);
      }
    }
    point_.values[depth] = unchosen(depth);
  }

  // Parameters not chosen yet hold something positive, as rules expect.
  int unchosen(std::size_t param) const {
    return choices_[param].size() == 1 ? choices_[param].front() : 1;
  }

  std::optional<std::size_t> broken_at(std::size_t depth) const {
    for (const std::size_t rule : rules_[depth]) {
      if (family_.rules[rule].broken(point_.values)) return rule;
    }
    return std::nullopt;
  }

  // The family's own verdict has the last word: it also knows what is not among the rules.
  void accept() {
    if (const std::optional<std::string> reason = family_.reject(point_.values)) {
      ++space_.rejected[*reason];
      return;
    }
    point_.traits = family_.traits(point_.values);
    point_.recipe = launch_recipe(point_.traits);
    if (const auto reason = veto_ ? veto_(point_) : std::nullopt) {
      ++vetoed_[*reason];
    } else {
      sample_.offer(point_);
    }
  }

  const KernelFamily& family_;
  const Veto& veto_;
  Space& space_;
  Sample& sample_;
  std::vector<std::vector<int>> choices_;        // of each parameter
  std::vector<std::vector<std::size_t>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;             // raw points that share a prefix, by depth
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
                const Veto& veto, const Sampling& sampling) {
  Space space;
  Sample sample(sampling);
  for (const KernelFamily* family : families) {
    Enumeration(*family, fixed, veto, space, sample).run();
  }
  space.valid = sample.offered();
  space.points = sample.take();
  return space;
}

}  // namespace gemm_tune
