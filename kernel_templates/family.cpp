// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/family.h"

#include <algorithm>
#include <utility>

namespace gemm_tune {

bool KernelFamily::supports(const Signature& signature) const {
  if (signature != signature_of(signature.a, signature.d)) return false;
  bool has_ab = signature.a == ElementType::f32, has_cd = signature.d == ElementType::f32;
  for (const ParamSpec& param : params) {
    const auto has = [&](ElementType type) {
      return std::find(param.values.begin(), param.values.end(), static_cast<int>(type)) !=
             param.values.end();
    };
    if (param.role == Role::type_ab) has_ab = has(signature.a);
    if (param.role == Role::type_cd) has_cd = has(signature.d);
  }
  return has_ab && has_cd;
}

std::optional<std::size_t> KernelFamily::find_param(std::string_view wanted) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == wanted) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> KernelFamily::find_role(Role role) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].role == role) return i;
  }
  return std::nullopt;
}

Config KernelFamily::config(Values values) const {
  Config config;
  config.family = name;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (values[i] != params[i].unless_named) config.params.emplace_back(params[i].name, values[i]);
  }
  return config;
}

std::vector<int> KernelFamily::specialised(Values values,
                                           const Specialisation& specialisation) const {
  std::vector<int> others(values.begin(), values.end());
  for (std::size_t i = 0; i < params.size(); ++i) {
    others[i] = value_of(specialisation, params[i].role).value_or(others[i]);
    const int only = params[i].only_with_vec;
    if (only > 0 && specialisation.vec != only) others[i] = params[i].unless_named.value();
  }
  return others;
}

void add_rule(KernelFamily& family, const std::string& reason, std::vector<std::size_t> reads,
              const std::function<bool(Values)>& is_broken) {
  family.rules.push_back({reason, std::move(reads), is_broken});
  family.reject = [is_broken, reason, before = std::move(family.reject)](Values values) {
    std::optional<std::string> broken = before(values);
    if (!broken && is_broken(values)) broken = reason;
    return broken;
  };
}

void add_later_param(KernelFamily& family, ParamSpec param, int most,
                     std::function<void(Traits&, int)> set_traits) {
  const std::size_t position = family.params.size();
  const std::string reason = most == 1
                                 ? param.name + " must be 0 or 1"
                                 : param.name + " must lie between 0 and " + std::to_string(most);
  param.unless_named = 0;
  family.params.push_back(std::move(param));
  add_rule(family, reason, {position}, [position, most](Values values) {
    return values[position] < 0 || values[position] > most;
  });
  if (const int only = family.params[position].only_with_vec; only > 0) {
    const std::size_t vec = family.find_role(Role::vector_width).value();
    add_rule(family, family.params[position].name + " needs VEC=" + std::to_string(only),
             {vec, position}, [position, vec, only](Values values) {
               return values[position] != 0 && values[vec] != only;
             });
  }
  if (set_traits == nullptr) return;
  family.traits = [position, set_traits = std::move(set_traits),
                   before = std::move(family.traits)](Values values) {
    Traits traits = before(values);
    set_traits(traits, values[position]);
    return traits;
  };
}

void add_repack_param(KernelFamily& family) {
  add_later_param(family,
                  {"REPACK",
                   {0, 1},
                   "1: a launch before copies A and B, to aligned rows and a padded K",
                   Role::repack},
                  1, [](Traits& traits, int value) { traits.repack = value != 0; });
}

void add_reduce_param(KernelFamily& family) {
  const std::size_t position = family.params.size();
  ParamSpec reduce = {
      "REDUCE", {0, 1}, "1: a launch after adds up the shares of tiles, on all SMs"};
  // Elsewhere shares are few and small, and half of the space would be for nothing.
  reduce.only_searched_with_large_k = true;
  add_later_param(family, std::move(reduce), 1,
                  [](Traits& traits, int value) { traits.reduce = value != 0; });
  const std::size_t cluster = family.find_param("CLUSTER").value();
  const std::size_t split_k = family.find_param("SPLIT_K").value();
  const std::size_t tail = family.find_param("TAIL").value();
  add_rule(family, "REDUCE needs shares outside of a cluster: SPLIT_K or TAIL, and CLUSTER=0",
           {cluster, split_k, tail, position}, [=](Values values) {
             return values[position] != 0 &&
                    (values[cluster] != 0 || (values[split_k] == 1 && values[tail] == 0));
           });
}

void add_vector_widths_param(KernelFamily& family,
                             std::function<void(Traits&, Values, int)> set_traits) {
  const std::size_t position = family.params.size();
  const std::size_t vec = family.find_role(Role::vector_width).value();
  const std::size_t repack = family.find_role(Role::repack).value();
  add_later_param(family,
                  {"VECS",
                   {0},
                   "digits: elements per access of A, of B, and of C and D; 0: VEC for all",
                   Role::vector_widths},
                  444, nullptr);
  add_rule(family, "VECS needs three digits of 1, 2 and 4 that differ, VEC the least of them",
           {vec, position}, [position, vec](Values values) {
             if (values[position] == 0) return false;
             const auto [a, b, cd] = vector_widths(values[position]);
             const auto is_width = [](int digit) { return digit == 1 || digit == 2 || digit == 4; };
             return !is_width(a) || !is_width(b) || !is_width(cd) || (a == b && b == cd) ||
                    values[vec] != std::min({a, b, cd});
           });
  add_rule(family, "VECS needs REPACK=0", {repack, position}, [position, repack](Values values) {
    return values[position] != 0 && values[repack] != 0;
  });
  // What limits the width of all accesses limits each of these. Later parameters may need the least
  // width, and do not limit others.
  const std::vector<FamilyRule> before = family.rules;
  for (const FamilyRule& rule : before) {
    if (std::find(rule.reads.begin(), rule.reads.end(), vec) == rule.reads.end() ||
        std::any_of(rule.reads.begin(), rule.reads.end(), [&](std::size_t read) {
          return family.params[read].unless_named.has_value();
        })) {
      continue;
    }
    std::vector<std::size_t> reads = rule.reads;
    reads.push_back(position);
    add_rule(family, rule.reason, std::move(reads),
             [position, vec, broken = rule.broken](Values values) {
               if (values[position] == 0) return false;
               std::vector<int> uniform(values.begin(), values.end());
               const auto [a, b, cd] = vector_widths(values[position]);
               return std::ranges::any_of(std::initializer_list<int>{a, b, cd}, [&](int width) {
                 uniform[vec] = width;
                 return broken(uniform);
               });
             });
  }
  family.traits = [position, set_traits = std::move(set_traits),
                   before = std::move(family.traits)](Values values) {
    Traits traits = before(values);
    traits.vecs = values[position];
    if (traits.vecs != 0) set_traits(traits, values, traits.vecs);
    return traits;
  };
}

LaunchRecipe launch_recipe(const Traits& traits) {
  LaunchRecipe recipe;
  recipe.block_threads = traits.threads;
  recipe.tile_m = traits.tile_m;
  recipe.tile_n = traits.tile_n;
  recipe.smem_bytes = traits.smem_bytes;
  recipe.tile_k = traits.tile_k;
  recipe.split_k = traits.split_k;
  recipe.cluster = traits.cluster;
  recipe.tail_ctas_per_sm = traits.tail_ctas_per_sm;
  recipe.layout = layout_of(traits.transposed_a, traits.transposed_b);
  recipe.type_ab = traits.signature.a;
  recipe.type_cd = traits.signature.d;
  recipe.alignment = traits.vec;
  if (traits.vecs != 0) {
    const auto [a, b, cd] = vector_widths(traits.vecs);
    recipe.alignment_a = a;
    recipe.alignment_b = b;
    recipe.alignment_cd = cd;
    recipe.alignment = std::max({a, b, cd});
  }
  recipe.repack = traits.repack;
  recipe.reduce = traits.reduce;
  recipe.multiple_m = traits.vector_multiple_m;
  recipe.multiple_n = traits.vector_multiple_n;
  recipe.multiple_k = traits.vector_multiple_k;
  if (!traits.predicated) {
    recipe.multiple_m = traits.tile_m;
    recipe.multiple_n = traits.tile_n;
    recipe.multiple_k = traits.tile_k;
  }
  return recipe;
}

}  // namespace gemm_tune
