#include "search/space.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gemm_tune {
namespace {

// Enumerates one family depth first, a parameter per level.
class Enumeration {
 public:
  Enumeration(const KernelFamily& family, std::span<const FixedParam> fixed, Space& space)
      : family_(family), space_(space), rules_(family.params.size()), below_(family.params.size()) {
    for (const ParamSpec& param : family.params) choices_.push_back(param.values);
    for (const FixedParam& one : fixed) {
      const auto param = family.find_param(one.name);
      if (param) std::erase_if(choices_[*param], [&](int value) { return value != one.value; });
    }
    std::uint64_t product = 1;
    for (std::size_t depth = family.params.size(); depth-- > 0;) {
      below_[depth] = product;
      product *= choices_[depth].size();
    }
    space_.enumerated += product;
    // A rule can be judged as soon as the last parameter it reads has a value.
    for (const FamilyRule& rule : family.rules) {
      const std::size_t depth = rule.reads.empty() ? 0 : rule.reads.back();
      rules_[depth].push_back(&rule);
    }
    // Parameters not chosen yet hold something positive, as rules expect.
    values_.assign(family.params.size(), 1);
  }

  void run() { descend(0); }

 private:
  void descend(std::size_t depth) {
    if (depth == values_.size()) {
      accept();
      return;
    }
    for (const int value : choices_[depth]) {
      values_[depth] = value;
      if (const FamilyRule* rule = broken_at(depth)) {
        space_.rejected[rule->reason] += below_[depth];
      } else {
        descend(depth + 1);
      }
    }
    values_[depth] = 1;
  }

  const FamilyRule* broken_at(std::size_t depth) const {
    for (const FamilyRule* rule : rules_[depth]) {
      if (rule->broken(values_)) return rule;
    }
    return nullptr;
  }

  // The family's own verdict has the last word: it also knows what is not among the rules.
  void accept() {
    if (const std::optional<std::string> reason = family_.reject(values_)) {
      ++space_.rejected[*reason];
      return;
    }
    space_.points.push_back(known_config(family_, values_));
  }

  const KernelFamily& family_;
  Space& space_;
  std::vector<std::vector<int>> choices_;              // of each parameter
  std::vector<std::vector<const FamilyRule*>> rules_;  // by the depth at which they can be judged
  std::vector<std::uint64_t> below_;                   // raw points that share a prefix, by depth
  std::vector<int> values_;
};

}  // namespace

Space enumerate(std::span<const KernelFamily> families, std::span<const FixedParam> fixed) {
  Space space;
  for (const KernelFamily& family : families) Enumeration(family, fixed, space).run();
  return space;
}

}  // namespace gemm_tune
