#include "search/space.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gemm_tune {
namespace {

// Enumerates one family depth first, a parameter per level.
class Enumeration {
 public:
  Enumeration(const KernelFamily& family, std::span<const FixedParam> fixed, const Veto& veto,
              Space& space)
      : family_(family),
        veto_(veto),
        space_(space),
        rules_(family.params.size()),
        below_(family.params.size()),
        broken_(family.rules.size()) {
    for (const ParamSpec& param : family.params) choices_.push_back(param.values);
    for (const FixedParam& one : fixed) {
      if (one.only_of != nullptr && one.only_of != &family) continue;
      const auto param = family.find_param(one.name);
      if (param) std::erase_if(choices_[*param], [&](int value) { return value != one.value; });
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
      space_.points.push_back(point_);
    }
  }

  const KernelFamily& family_;
  const Veto& veto_;
  Space& space_;
  std::vector<std::vector<int>> choices_;        // of each parameter
  std::vector<std::vector<std::size_t>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;             // raw points that share a prefix, by depth
  std::vector<std::uint64_t> broken_;            // raw points, by the rule
  std::map<std::string_view, std::uint64_t> vetoed_;
  KnownConfig point_;  // the one at hand: its values are set on the way down
};

}  // namespace

Space enumerate(std::span<const KernelFamily> families, std::span<const FixedParam> fixed,
                const Veto& veto) {
  Space space;
  for (const KernelFamily& family : families) Enumeration(family, fixed, veto, space).run();
  return space;
}

}  // namespace gemm_tune
