// SPDX-License-Identifier: Apache-2.0
// The configs that serve where nothing tuned does: each family's untuned ones. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// The family's own for problems of these types, stored so; nothing where it has none on the
// architecture.
std::optional<KnownConfig> untuned_config(const KernelFamily& family, const Signature& signature,
                                          Layout layout, std::string_view arch,
                                          BatchKind batch_kind = BatchKind::strided);

// The config for problems of these types and this layout that no winner serves, on an architecture.
// One of its served_variants() serves any shape, alignment class and batch that a grid can hold.
// Nothing where no kernel has these types on the architecture. All architectures have f32.
std::optional<KnownConfig> builtin_config(const Signature& signature, Layout layout,
                                          std::string_view arch);

// Of the last family that has an untuned config for the problem: the variant with accesses as wide
// as the problem allows.
std::optional<KnownConfig> builtin_default(const Problem& problem, std::string_view arch);

}  // namespace gemm_tune
