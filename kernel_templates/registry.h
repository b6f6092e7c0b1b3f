// SPDX-License-Identifier: Apache-2.0
// The explicit list of kernel families, and configs checked against it.
//
// Adding a family = one .cuh + one line in families.cpp. Immutable; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "core/launch_recipe.h"
#include "core/problem.h"
#include "kernel_templates/family.h"

namespace gemm_tune {

// All families, from the plainest rung to the fastest.
std::span<const KernelFamily> families();

// Those that have kernels of this signature.
std::vector<const KernelFamily*> families_of(const Signature& signature);

// nullptr for an unknown name.
const KernelFamily* find_family(std::string_view name);

// A config that names a known family, every one of its parameters once, and breaks no rule.
struct KnownConfig {
  const KernelFamily* family = nullptr;
  std::vector<int> values;  // in the order of family->params
  Traits traits;
  LaunchRecipe recipe;

  Config config() const { return family->config(values); }
  Specialisation specialisation() const;
};

// The config of these values, which break no rule of the family; it points to the family. Last
// parameters that are missing have the value of a text that does not name them.
KnownConfig known_config(const KernelFamily& family, std::vector<int> values);

// Throws UsageError naming the unknown family, the misspelt, missing or surplus parameter, or the
// rule that the values break.
KnownConfig check_config(const Config& config);

// The same tunables under another specialisation, as KernelFamily::specialised(). Precondition: no
// rule forbids it.
KnownConfig specialised(const KnownConfig& config, const Specialisation& specialisation);

// Every config that a winner may be handed out as: the same tunables under each specialisation that
// it must have. These are its own, then those of its predicated twins: with its launch before the
// kernel and without, then narrower accesses, the widest first; six at most. The finals verify
// exactly these, and the chooser and the exported header hand out no others.
std::vector<KnownConfig> served_variants(const KnownConfig& winner);

// The first of served_variants() that is legal for the problem, or nothing.
struct LegalConfig {
  KnownConfig config;
  bool is_twin = false;
};
std::optional<LegalConfig> legal_for(const KnownConfig& config, const Problem& problem);

}  // namespace gemm_tune
