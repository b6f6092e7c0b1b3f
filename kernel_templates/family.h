// SPDX-License-Identifier: Apache-2.0
// A kernel family as the host sees it: a parameterised source, its parameters, rules, cost, recipe.
//
// The type-erased twin of what each .cuh declares over its own Params struct; make_family() is the
// only way to build one, so that host filter and kernel rest on the same constexpr functions.
// Immutable after construction; safe to share between threads.
#pragma once

#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/launch_recipe.h"
#include "kernel_templates/rules.h"
#include "kernel_templates/specialisation.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

// A config's parameter values in the order of KernelFamily::params.
using Values = std::span<const int>;

struct ParamSpec {
  std::string name;
  std::vector<int> values;  // what a search tries, ascending; --config takes any that rules allow
  std::string meaning;
  Role role = Role::tunable;
  // The value in a text that does not name the parameter; the canonical text does not name it then.
  std::optional<int> unless_named = {};
  // Where above 0: other widths of accesses than this one allow no other value than unless_named.
  int only_with_vec = 0;
  // A search tries no other value than unless_named where all operands are aligned alike.
  bool only_searched_with_vector_widths = false;
  // The same where K is not large beside M and N.
  bool only_searched_with_large_k = false;
};

// A structural rule, by the positions of the parameters it reads.
struct FamilyRule {
  std::string reason;
  std::vector<std::size_t> reads;      // positions in params, ascending
  std::function<bool(Values)> broken;  // positions outside `reads` may hold anything positive
};

struct KernelFamily {
  std::string name;
  std::string summary;  // one line, for help and reports
  std::vector<ParamSpec> params;
  std::vector<FamilyRule> rules;
  // Accesses narrower than the alignment allows are never better.
  bool is_fastest_at_widest_vec = false;
  // The first reason why the values cannot be compiled, or nothing; the .cuh's reject().
  std::function<std::optional<std::string>(Values)> reject;
  std::function<Traits(Values)> traits;  // precondition: not rejected
  // The config for problems of this signature that nothing tuned serves, on the architecture of
  // this number (80 for sm_80): its served_variants() are legal for any shape and alignment. Empty
  // in most families; nothing for a signature or an architecture that the family does not serve.
  std::function<std::optional<std::vector<int>>(const Signature&, int sm)> untuned;

  // The .cuh's path as an include: "kernel_templates/<name>.cuh".
  std::string source_path() const { return "kernel_templates/" + name + ".cuh"; }

  // Whether the family has kernels of this signature: among the values of its parameters of the
  // roles type_ab and type_cd are its types. A family without these parameters has f32 only.
  bool supports(const Signature& signature) const;

  // The position of a parameter, or nothing.
  std::optional<std::size_t> find_param(std::string_view name) const;
  std::optional<std::size_t> find_role(Role role) const;

  Config config(Values values) const;

  // The same tunables under another specialisation; rules may forbid them. A part of the
  // specialisation for which the family has no parameter stays as it is. A parameter that the width
  // of accesses does not allow is as in a text that does not name it.
  std::vector<int> specialised(Values values, const Specialisation& specialisation) const;
};

// How to launch a config of these traits, and for which problems it is legal: any shape if
// predicated, else multiples of the tile; alignment class vec either way.
LaunchRecipe launch_recipe(const Traits& traits);

template <class Params>
struct ParamDecl {
  const char* name;
  int Params::*member;
  std::vector<int> values;
  const char* meaning;
  Role role = Role::tunable;
};

// The parameters of the specialisation, which are alike in every family that has them.
template <class Params>
ParamDecl<Params> transposed_a_param(const char* name, int Params::*member) {
  return {name, member, {0, 1}, "1: A is stored [K,M]", Role::transposed_a};
}
template <class Params>
ParamDecl<Params> transposed_b_param(const char* name, int Params::*member) {
  return {name, member, {0, 1}, "1: B is stored [N,K]", Role::transposed_b};
}
template <class Params>
ParamDecl<Params> vector_width_param(const char* name, int Params::*member) {
  return {name, member, {1, 2, 4}, "elements per global access", Role::vector_width};
}
template <class Params>
ParamDecl<Params> predicated_param(const char* name, int Params::*member) {
  return {name,
          member,
          {0, 1},
          "1: predicated edges, any shape; 0: whole tiles only",
          Role::predicated};
}

// That a Params is its parameters' values in order, so that values become one by copying bytes:
// enumeration does it for every rule of every point. Throws std::logic_error otherwise.
template <class Params>
void check_order(const std::vector<int Params::*>& members) {
  static_assert(std::is_trivially_copyable_v<Params>);
  if (sizeof(Params) != members.size() * sizeof(int)) {
    throw std::logic_error("a family must declare every member of its Params once");
  }
  Params p{};
  for (std::size_t i = 0; i < members.size(); ++i) {
    p.*members[i] = 1;
    int value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&p) + i * sizeof(int), sizeof(int));
    if (value != 1) throw std::logic_error("a family must declare its Params in their order");
  }
}

// The values in the order of the family's parameters, which check_order() proves.
template <class Params>
std::vector<int> values_of(const Params& p) {
  std::vector<int> values(sizeof p / sizeof(int));
  std::memcpy(values.data(), &p, sizeof p);
  return values;
}

// Adds a rule, which reject() judges last. reads: positions in params, ascending.
void add_rule(KernelFamily& family, const std::string& reason, std::vector<std::size_t> reads,
              const std::function<bool(Values)>& is_broken);

// Adds a last parameter that is no member of the family's Params, from 0 to `most`: configs without
// it have 0, the kernel that was there before it, with the same constants in its machine code. A
// tunable that is not 0 reaches the kernel as the macro TUNED_<name>. Text that stands in #ifdef
// TUNED_<name> and that token_text.cpp knows by this name is no part of the family's identity, so
// that rows from before it count; where such a text changes, so must the parameter's value.
// set_traits, where given, is told the value.
void add_later_param(KernelFamily& family, ParamSpec param, int most,
                     std::function<void(Traits&, int)> set_traits);

// Adds one of which the kernel knows nothing: whether a launch before it copies A and B
// (device/repack.cuh).
void add_repack_param(KernelFamily& family);

// Adds REDUCE: whether a launch after the kernel adds up the shares of tiles
// (device/share_reduce.cuh), which its CTAs leave in the workspace. The family's Params have
// CLUSTER, SPLIT_K and TAIL.
void add_reduce_param(KernelFamily& family);

// The digits of Specialisation::vecs.
struct VectorWidths {
  int a, b, cd;
};
constexpr VectorWidths vector_widths(int vecs) { return {vecs / 100, vecs / 10 % 10, vecs % 10}; }

// Adds VECS, of the role vector_widths: the digits are legal where the family's rules allow each of
// them as the width of all accesses. set_traits is told a config's values without VECS, and VECS.
void add_vector_widths_param(KernelFamily& family,
                             std::function<void(Traits&, Values, int)> set_traits);

// Builds the host's view from what the .cuh declares: its parameters in canonical order, its rules
// (each must name parameters that exist), its reject() and its traits().
template <class Params, int N>
KernelFamily make_family(const char* name, const char* summary,
                         std::initializer_list<ParamDecl<Params>> params,
                         const Rule<Params> (&rules)[N], const char* (*reject)(const Params&),
                         Traits (*traits)(const Params&)) {
  KernelFamily family;
  family.name = name;
  family.summary = summary;
  std::vector<int Params::*> members;
  for (const ParamDecl<Params>& param : params) {
    family.params.push_back({param.name, param.values, param.meaning, param.role});
    members.push_back(param.member);
  }
  check_order<Params>(members);
  const auto to_params = [](Values values) {
    Params p;
    std::memcpy(&p, values.data(), sizeof p);
    return p;
  };
  for (const Rule<Params>& rule : rules) {
    FamilyRule erased;
    erased.reason = rule.reason;
    std::istringstream names(rule.reads);
    for (std::string read; names >> read;) erased.reads.push_back(family.find_param(read).value());
    erased.broken = [to_params, broken = rule.broken](Values v) { return broken(to_params(v)); };
    family.rules.push_back(std::move(erased));
  }
  family.reject = [to_params, reject](Values values) -> std::optional<std::string> {
    const char* reason = reject(to_params(values));
    return reason == nullptr ? std::nullopt : std::optional<std::string>(reason);
  };
  family.traits = [to_params, traits](Values values) { return traits(to_params(values)); };
  if (family.find_role(Role::vector_width)) add_repack_param(family);
  return family;
}

}  // namespace gemm_tune
