// SPDX-License-Identifier: Apache-2.0
// The valid points of one or more families, enumerated with pruning, and the funnel of what was
// not.
//
// A rule is applied as soon as the parameters it reads are chosen, so that a raw product far larger
// than the valid set enumerates in time proportional to the latter. What a caller has no use for is
// never stored; of more valid points than can be kept an even sample is. Problems differ in few
// parameters: these are chosen first, and what lies below a choice of them can be remembered from
// one problem to the next. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel_templates/registry/registry.h"
#include "search/space/config_list.h"

namespace gemm_tune {

struct Space {
  ConfigList points;             // valid, in order: all of them, or a sample
  std::uint64_t valid = 0;       // how many there are
  std::uint64_t enumerated = 0;  // the raw product over all families
  std::map<std::string, std::uint64_t>
      rejected;                                 // raw points by the reason of the first rule broken
  std::map<std::string, std::uint64_t> vetoed;  // of these: by the veto, all rules kept
};

// A parameter that the search does not choose.
struct FixedParam {
  std::string name;
  int value = 0;
  const KernelFamily* only_of = nullptr;  // nullptr: of every family that has it
  std::optional<int> or_value = {};       // the search chooses between the two
};

// The parameters of families_of(its signature) whose values the problem settles: its layout, its
// types; and, unless copies of A and B would have aligned rows where their own are not, that none
// are made, and how wide accesses are in families where wider ones are never worse. in_one_order:
// all M are to share an order of sums (kernel_templates/registry/order_of_sums.h).
std::vector<FixedParam> settled_params(const Problem& problem, bool in_one_order = false);

// Why the caller has no use for a valid point, as a text that lives for ever, or nothing.
using Veto = std::function<std::optional<std::string_view>(const KnownConfig&)>;

// A veto of which a part depends on a problem.
struct ProblemVeto {
  Veto always;  // the part of every problem
  // All that `here` depends on: points of one kind have one verdict.
  std::function<std::vector<int>(const KnownConfig&)> kind;
  Veto here;  // given one point of each kind
};

// Of more than `most` valid points so many are kept, each with the same probability, drawn by the
// seed. Memory grows with what is kept.
struct Sampling {
  std::size_t most = 1'000'000;
  std::uint64_t seed = 0;
};

// Rules beyond the family's own. A veto may know them too; as rules they are judged earlier.
using FurtherRules = std::function<std::vector<FamilyRule>(const KernelFamily&)>;

// What is known of a space below the parameters that problems have a say in, for the next problem.
// The families, their rules and ProblemVeto::always must stay the same. Filled in and read by
// enumerate() alone, in one thread at once.
struct SpaceMemory {
  struct Kind {
    KnownConfig example;
    std::vector<std::uint64_t> points;  // as distances from the subtree's first
  };
  struct Subtree {
    std::vector<std::pair<std::size_t, std::uint64_t>> broken;  // raw points, by the rule
    std::map<std::string_view, std::uint64_t> vetoed;           // by ProblemVeto::always
    std::map<std::vector<int>, Kind> kinds;
  };
  // Of a family with these choices of each parameter, by the first raw point below.
  using Choices = std::vector<std::vector<int>>;
  using Subtrees = std::unordered_map<std::uint64_t, Subtree>;

  std::map<std::pair<const KernelFamily*, Choices>, Subtrees> known;
};

// enumerated == valid + the sum over rejected. Points hold pointers into families. Within a
// family the last parameter varies fastest. A family that has one of the fixed parameters is
// enumerated with that value of it only; others of its values are no part of the space.
// veto: judges what no rule rejects, where given; what it turns down counts as rejected.
// Precondition: of the values that the families list, reject() turns down what rules do.
Space enumerate(const std::vector<const KernelFamily*>& families,
                std::span<const FixedParam> fixed = {}, const Veto& veto = nullptr,
                const Sampling& sampling = {}, const FurtherRules& further_rules = nullptr);

// The same at one of several problems. Further rules are the problem's, and of each family read the
// same parameters at every problem. So many threads enumerate: rules, traits and the veto are
// called in any of them; the space does not depend on their number.
Space enumerate(const std::vector<const KernelFamily*>& families, std::span<const FixedParam> fixed,
                const ProblemVeto& veto, const Sampling& sampling,
                const FurtherRules& further_rules, SpaceMemory& memory, std::size_t threads = 1);

}  // namespace gemm_tune
