// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/family.h"

#include <algorithm>

#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/device/element/vector_widths.cuh"

namespace gemm_tune {

// Kernels know a type by its number.
static_assert(static_cast<int>(ElementType::f32) == kTypeF32 &&
              static_cast<int>(ElementType::f16) == kTypeF16 &&
              static_cast<int>(ElementType::bf16) == kTypeBf16 &&
              static_cast<int>(ElementType::e4m3) == kTypeE4m3);

bool KernelFamily::has_class_of(const Signature& signature) const {
  if (const auto class_param = find_role(Role::accuracy)) {
    const std::vector<int>& classes = params[*class_param].values;
    return std::count(classes.begin(), classes.end(), static_cast<int>(signature.accuracy)) > 0;
  }
  const bool has_own_class = accuracy && has_class(signature.a, signature.b, *accuracy);
  return signature.accuracy == (has_own_class ? *accuracy : accuracy_of(signature.a, signature.b));
}

bool KernelFamily::supports(const Signature& signature) const {
  if (signature.c != signature.d || !has_class_of(signature)) return false;
  bool has_a = signature.a == kSumType, has_b = signature.b == kSumType;
  bool has_cd = signature.d == kSumType;
  std::vector<int> values(params.size(), 1);
  std::vector<bool> is_type(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ParamSpec& param = params[i];
    if (!is_of_signature(param.role)) continue;
    is_type[i] = true;
    values[i] = value_of(Specialisation{.signature = signature}, param.role).value();
    const bool has = std::count(param.values.begin(), param.values.end(), values[i]) > 0;
    if (param.role == Role::type_ab) has_a = has_b = has && signature.a == signature.b;
    if (param.role == Role::type_a) has_a = has;
    if (param.role == Role::type_b) has_b = has;
    if (param.role == Role::type_cd) has_cd = has;
  }
  const auto is_of_types = [&](const FamilyRule& rule) {
    return std::all_of(rule.reads.begin(), rule.reads.end(), [&](auto i) { return is_type[i]; });
  };
  return has_a && has_b && has_cd &&
         std::none_of(rules.begin(), rules.end(), [&](const FamilyRule& rule) {
           return is_of_types(rule) && rule.broken(values);
         });
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

std::optional<std::size_t> KernelFamily::find_trait(int Traits::*trait) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].trait == trait) return i;
  }
  return std::nullopt;
}

Config KernelFamily::config(Values values) const {
  Config config;
  config.family = name;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (values[i] != params[i].default_value) config.params.emplace_back(params[i].name, values[i]);
  }
  return config;
}

std::vector<int> KernelFamily::specialised(Values values,
                                           const Specialisation& specialisation) const {
  std::vector<int> others(values.begin(), values.end());
  for (std::size_t i = 0; i < params.size(); ++i) {
    others[i] = value_of(specialisation, params[i].role).value_or(others[i]);
    if (params[i].searched == SearchScope::where_vec_is_1 && specialisation.vec != 1) {
      others[i] = params[i].default_value.value();
    }
  }
  return others;
}

LaunchRecipe launch_recipe(const Traits& traits) {
  LaunchRecipe recipe;
  recipe.block_threads = traits.threads;
  recipe.tile_m = traits.tile_m;
  recipe.tile_n = traits.tile_n;
  recipe.smem_bytes = traits.smem_bytes;
  recipe.tile_k = traits.tile_k;
  recipe.split_k = traits.split_k;
  recipe.cluster_blocks = traits.cluster_ctas;
  recipe.tail_ctas_per_sm = traits.tail_ctas_per_sm;
  recipe.layout = layout_of(traits.transposed_a, traits.transposed_b);
  recipe.type_a = traits.signature.a;
  recipe.type_b = traits.signature.b;
  recipe.type_cd = traits.signature.d;
  recipe.accuracy = traits.signature.accuracy;
  recipe.alignment = traits.vec;
  if (traits.vecs != 0) {
    const auto [a, b, cd] = vector_widths(traits.vecs);
    recipe.alignment_a = a;
    recipe.alignment_b = b;
    recipe.alignment_cd = cd;
    recipe.alignment = std::max({a, b, cd});
  }
  if (traits.alignment_ab != 0) {
    recipe.alignment_a = recipe.alignment_b = traits.alignment_ab;
    recipe.alignment_cd = traits.alignment_cd;
    recipe.alignment = std::max(traits.alignment_ab, traits.alignment_cd);
  }
  recipe.repack = traits.repack;
  recipe.batch_kind = traits.batch_kind;
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
