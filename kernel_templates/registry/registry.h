// SPDX-License-Identifier: Apache-2.0
// The explicit list of kernel families, and configs checked against it.
//
// Adding a family = one folder + one line in families.h; users load families of their own
// (user_families.h) before anything of this file is asked. Immutable from then on; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/candidate/config.h"
#include "core/launch/launch_recipe.h"
#include "core/problem/problem.h"
#include "kernel_templates/family.h"

namespace gemm_tune {

// All families of kernels, from the plainest rung to the fastest, then those of users.
std::span<const KernelFamily> families();

// Those that have kernels of this signature.
std::vector<const KernelFamily*> families_of(const Signature& signature);

// Whether a family has kernels of this signature. Cheap: what was asked before is remembered.
bool is_served(const Signature& signature);

// Why no family has kernels of this signature, as a sentence fragment; nothing where one has.
std::optional<std::string> why_unserved(const Signature& signature);

// The same for a problem of any size.
std::optional<std::string> why_unserved(const Problem& problem);

// Of kernels or of a library (library_families.h); nullptr for an unknown name.
const KernelFamily* find_family(std::string_view name);

// A config that names a known family, every one of its parameters once, and breaks no rule.
struct KnownConfig {
  const KernelFamily* family = nullptr;
  std::vector<int> values;  // in the order of family->params
  Traits traits;
  LaunchRecipe recipe;

  Config config() const { return family->config(values); }
  Specialisation specialisation() const;

  // Whether an exported header says all that a launch takes: one kernel, with GemmArgs.
  bool is_exportable() const { return family->takes_gemm_args && !traits.repack && !traits.reduce; }

  // The launches of a call of the problem, which the recipe must allow, on a device of so many SMs.
  // Throws UsageError where the matrices are too large for any.
  LaunchPlan plan(const Problem& problem, int sm_count) const;
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
// it must have. These are its own, then those of its predicated specialisations: with its launch
// before the kernel and without, then narrower accesses, the widest first; six at most. The finals
// verify exactly these, and the chooser and the exported header hand out no others.
std::vector<KnownConfig> served_variants(const KnownConfig& winner);

// The first of served_variants() that is legal for the problem, or nothing.
struct LegalConfig {
  KnownConfig config;
  bool is_specialisation = false;
};
std::optional<LegalConfig> legal_for(const KnownConfig& config, const Problem& problem);

}  // namespace gemm_tune
