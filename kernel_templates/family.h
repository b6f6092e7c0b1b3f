// SPDX-License-Identifier: Apache-2.0
// A kernel family as the host sees it: a parameterised source, its parameters, rules, cost, recipe.
//
// The type-erased form of what each params.cuh declares over its own Params struct; make_family()
// is the only way to build one, so that host filter and kernel rest on the same constexpr
// functions. Immutable after construction; safe to share between threads.
#pragma once

#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/candidate/config.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/rules.h"
#include "kernel_templates/source/specialisation.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

struct LaunchPlan;  // core/launch/launch_plan.h

// A config's parameter values in the order of KernelFamily::params.
using Values = std::span<const int>;

// Where a search tries other values of a parameter than its default value.
enum class SearchScope {
  everywhere,
  where_vec_is_1,                  // accesses of one element; no other width allows other values
  where_vector_widths_may_differ,  // where operands are aligned differently
  where_k_is_large,                // beside M and N
  where_d_is_unaligned,            // to 16 bytes, or C
  in_one_order,                    // where all M are to share an order of sums
};

// What of a parameter decides whether a kernel's registers suffice, which only the compiler tells.
enum class RegistersBy {
  value,
  presence,  // whether it is 0
  nothing,
};

struct ParamSpec {
  std::string name;
  std::vector<int> values;  // what a search tries, ascending; --config takes any that rules allow
  std::string meaning;
  Role role = Role::tunable;
  // The value in a text that does not name the parameter; the canonical text does not name it then.
  std::optional<int> default_value = {};
  SearchScope searched = SearchScope::everywhere;  // another place: with a default value only
  bool adds_kernel = false;  // 1: the program has a further kernel, compiled where TUNED_<name> is
  int Traits::*trait = nullptr;  // the trait that has the value in every config
  RegistersBy registers_by = RegistersBy::value;
};

// A step of the ladder that tutorials climb (kernel_templates/ladder.h).
struct Rung {
  std::string_view name;     // for reports: "shared memory 16x16"
  std::string_view config;   // canonical text
  std::string_view teaches;  // one line: what the step to this rung shows
};

// Kernel texts by the names that includes have.
using KernelTexts = std::map<std::string, std::string, std::less<>>;

// A structural rule, by the positions of the parameters it reads.
struct FamilyRule {
  std::string reason;
  std::vector<std::size_t> reads;      // positions in params, ascending
  std::function<bool(Values)> broken;  // positions outside `reads` may hold anything positive
};

struct KernelFamily {
  std::string name;
  // Raised when the machine code or the results of an existing config change: rows of another
  // revision are stale.
  int revision = 1;
  std::string summary;  // one line, for help and reports
  // Whose algorithms the configs are ("cuBLAS", "cublasLt"); empty: kernels of ours. See
  // library_families.h.
  std::string library;
  std::vector<ParamSpec> params;
  std::vector<FamilyRule> rules;
  // Accesses narrower than the alignment allows are never better.
  bool is_fastest_at_widest_vec = false;
  // The accuracy class of the family's products of operands that have it; of others, and where
  // there is none, that of their types, accuracy_of(). Not read where a parameter has the role
  // accuracy.
  std::optional<Accuracy> accuracy;
  // The first reason why the values cannot be compiled, or nothing; reject() of params.cuh.
  std::function<std::optional<std::string>(Values)> reject;
  std::function<Traits(Values)> traits;  // precondition: not rejected
  // The launches of a call on a device of so many SMs; KnownConfig::plan(). Empty: product_plan().
  std::function<LaunchPlan(Values, const Problem&, int sm_count)> plan;
  // Whether the kernel's one parameter is GemmArgs, which is what an exported header tells of.
  bool takes_gemm_args = true;
  // The config for problems of this signature that nothing tuned serves, on the architecture of
  // this number (80 for sm_80). Of the first family that has one, its served_variants() are legal
  // for any shape and alignment; of later, faster ones where legal_for() says so. Empty in most
  // families; nothing for a signature or an architecture that the family does not serve.
  std::function<std::optional<std::vector<int>>(const Signature&, int sm)> untuned;

  // For problems without a timing: configs whose least modelled time is near that over the family's
  // space, in the values' order (choose/attainable_time.h). Empty: the family has none.
  std::vector<std::vector<int>> representatives;
  // The average time to compile a config by NVRTC 13.0 on one core of a server.
  double compile_seconds = 0.6;
  // From the plainest to the fastest.
  std::vector<Rung> rungs;

  // Of a user's family (user_families.h): its plug-in's file, and the .cuh files of its folder by
  // their names. Empty: a family of the program's own.
  std::string plugin;
  KernelTexts texts;

  bool is_library() const { return !library.empty(); }
  bool is_users() const { return !plugin.empty(); }

  // The kernel's path as an include: "kernel_templates/<name>/kernel.cuh"; of a user's family
  // "<name>/kernel.cuh".
  std::string source_path() const {
    return (is_users() ? "" : "kernel_templates/") + name + "/kernel.cuh";
  }

  // Whether the family has kernels of this signature: among the values of its parameters whose role
  // is a type are its types, and no rule forbids them and the class together. A family without
  // these parameters has f32 only. Of the types' accuracy classes it has one, or those among the
  // values of its parameter of the role accuracy.
  bool supports(const Signature& signature) const;

  bool has_class_of(const Signature& signature) const;

  // The position of a parameter, or nothing.
  std::optional<std::size_t> find_param(std::string_view name) const;
  std::optional<std::size_t> find_role(Role role) const;
  std::optional<std::size_t> find_trait(int Traits::*trait) const;

  Config config(Values values) const;

  // The same tunables under another specialisation; rules may forbid them. A part of the
  // specialisation for which the family has no parameter stays as it is. A parameter that the width
  // of accesses does not allow has its default value.
  std::vector<int> specialised(Values values, const Specialisation& specialisation) const;
};

// How to launch a config of these traits, and for which problems it is legal: any shape if
// predicated, else multiples of the tile; alignment class vec either way.
LaunchRecipe launch_recipe(const Traits& traits);

// A parameter of a family, and the member of its Params that has the value. One with a default
// value has it as the member's initializer, too.
template <class Params>
struct ParamDecl {
  const char* name;
  int Params::*member;
  std::vector<int> values;
  const char* meaning;
  Role role = Role::tunable;
  std::optional<int> default_value = {};
  SearchScope searched = SearchScope::everywhere;
  bool adds_kernel = false;
  int Traits::*trait = nullptr;
  RegistersBy registers_by = RegistersBy::value;
};

// Parameters that are a trait, which the filter and reports know in every family that has them.
template <class Params>
ParamDecl<Params> trait_param(const char* name, int Params::*member, int Traits::*trait,
                              std::vector<int> values, const char* meaning) {
  ParamDecl<Params> param = {name, member, std::move(values), meaning};
  param.trait = trait;
  return param;
}
template <class Params>
ParamDecl<Params> tile_m_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::tile_m, std::move(values), "CTA tile rows");
}
template <class Params>
ParamDecl<Params> tile_n_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::tile_n, std::move(values), "CTA tile columns");
}
template <class Params>
ParamDecl<Params> tile_k_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::tile_k, std::move(values),
                     "K elements per slice in shared memory");
}
template <class Params>
ParamDecl<Params> thread_m_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::thread_m, std::move(values), "thread tile rows");
}
template <class Params>
ParamDecl<Params> thread_n_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::thread_n, std::move(values), "thread tile columns");
}
template <class Params>
ParamDecl<Params> stages_param(const char* name, int Params::*member, std::vector<int> values) {
  return trait_param(name, member, &Traits::stages, std::move(values), "slices in shared memory");
}
template <class Params>
ParamDecl<Params> split_k_param(const char* name, int Params::*member, std::vector<int> values,
                                const char* meaning = "CTAs that share a tile along K") {
  return trait_param(name, member, &Traits::split_k, std::move(values), meaning);
}

// The parameters of the specialisation, which are alike in every family that has them.
template <class Params>
ParamDecl<Params> transposed_a_param(const char* name, int Params::*member) {
  return {name, member, {0, 1}, "1: A is stored [K,M]", Role::transposed_a};
}
template <class Params>
ParamDecl<Params> transposed_b_param(const char* name, int Params::*member) {
  return {name, member, {0, 1}, "1: B is stored [N,K]", Role::transposed_b};
}
// Of families whose kernels widen operands of 16 bits to f32.
template <class Params>
ParamDecl<Params> type_a_param(const char* name, int Params::*member) {
  return {name, member, {0, 1, 2}, "type of A: 0 for f32, 1 for f16, 2 for bf16", Role::type_a, 0};
}
template <class Params>
ParamDecl<Params> type_b_param(const char* name, int Params::*member) {
  return {name, member, {0, 1, 2}, "type of B: 0 for f32, 1 for f16, 2 for bf16", Role::type_b, 0};
}
template <class Params>
ParamDecl<Params> vector_width_param(const char* name, int Params::*member,
                                     std::vector<int> values = {1, 2, 4}) {
  ParamDecl<Params> param = {name, member, std::move(values), "elements per global access",
                             Role::vector_width};
  param.trait = &Traits::vec;
  return param;
}
template <class Params>
ParamDecl<Params> predicated_param(const char* name, int Params::*member) {
  return {name,
          member,
          {0, 1},
          "1: predicated edges, any shape; 0: whole tiles only",
          Role::predicated};
}
template <class Params>
ParamDecl<Params> repack_param(const char* name, int Params::*member) {
  return {name,
          member,
          {0, 1},
          "1: a pre-pass kernel copies A and B, to aligned rows and a padded K",
          Role::repack,
          0,
          SearchScope::everywhere,
          true};
}
template <class Params>
ParamDecl<Params> vector_widths_param(const char* name, int Params::*member) {
  ParamDecl<Params> param = {
      name,
      member,
      {0},
      "digits: elements per access of A, of B, and of C and D; 0: VEC for all",
      Role::vector_widths,
      0};
  param.trait = &Traits::vecs;
  return param;
}

template <class Params>
ParamDecl<Params> pointers_param(const char* name, int Params::*member) {
  return {name,
          member,
          {0, 1},
          "1: a batch's matrices have their addresses in arrays on the device",
          Role::batch_kind,
          0};
}

// That a Params is its parameters' values in order, so that values become one by copying bytes:
// enumeration does it for every rule of every point. That a default value is the member's. Throws
// std::logic_error otherwise.
template <class Params>
void check_members(const std::vector<ParamDecl<Params>>& params) {
  static_assert(std::is_trivially_copyable_v<Params>);
  if (sizeof(Params) != params.size() * sizeof(int)) {
    throw std::logic_error("a family must declare every member of its Params once");
  }
  Params p{};
  for (std::size_t i = 0; i < params.size(); ++i) {
    int& member = p.*params[i].member;
    if (params[i].default_value.value_or(member) != member) {
      throw std::logic_error("a default value must be the member's");
    }
    member = -1;
    int value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&p) + i * sizeof(int), sizeof(int));
    if (value != -1) throw std::logic_error("a family must declare its Params in their order");
  }
}

// The values in the order of the family's parameters, which check_members() proves.
template <class Params>
std::vector<int> values_of(const Params& p) {
  std::vector<int> values(sizeof p / sizeof(int));
  std::memcpy(values.data(), &p, sizeof p);
  return values;
}
template <class Params>
std::vector<std::vector<int>> values_of(std::initializer_list<Params> all) {
  std::vector<std::vector<int>> values;
  for (const Params& p : all) values.push_back(values_of(p));
  return values;
}

// The values as the family's Params.
template <class Params>
Params params_of(Values values) {
  Params p;
  std::memcpy(static_cast<void*>(&p), values.data(),
              sizeof p);  // check_members() proves that it may
  return p;
}

// Builds the host's view from what params.cuh declares: the parameters in canonical order, the
// rules (each must name parameters that exist) and reject(). traits: of values that reject() takes.
template <class Params, int N>
KernelFamily make_family(const char* name, int revision, const char* summary,
                         const std::vector<ParamDecl<Params>>& params,
                         const Rule<Params> (&rules)[N], const char* (*reject)(const Params&),
                         Traits (*traits)(const Params&)) {
  KernelFamily family;
  family.name = name;
  family.revision = revision;
  family.summary = summary;
  for (const ParamDecl<Params>& param : params) {
    family.params.push_back({param.name, param.values, param.meaning, param.role,
                             param.default_value, param.searched, param.adds_kernel, param.trait,
                             param.registers_by});
  }
  check_members(params);
  for (const Rule<Params>& rule : rules) {
    FamilyRule erased;
    erased.reason = rule.reason;
    std::istringstream names(rule.reads);
    for (std::string read; names >> read;) erased.reads.push_back(family.find_param(read).value());
    erased.broken = [broken = rule.broken](Values v) { return broken(params_of<Params>(v)); };
    family.rules.push_back(std::move(erased));
  }
  family.reject = [reject](Values values) -> std::optional<std::string> {
    const char* reason = reject(params_of<Params>(values));
    return reason == nullptr ? std::nullopt : std::optional<std::string>(reason);
  };
  family.traits = [traits](Values values) { return traits(params_of<Params>(values)); };
  return family;
}

}  // namespace gemm_tune
