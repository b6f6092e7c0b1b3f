// SPDX-License-Identifier: Apache-2.0
// Configs that the command line names.
#pragma once

#include <string>
#include <vector>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// A config's text, also as the report breaks it over lines. Throws UsageError.
KnownConfig named_config(std::string text);

// What a search is limited to: configs, else whole families, else nothing.
struct NamedConfigs {
  std::vector<KnownConfig> configs;
  std::vector<const KernelFamily*> families;
};

// Those of the words, without duplicates: a config, the name of a family, or "@FILE", which has a
// config on each line. Throws UsageError, also for configs beside families.
NamedConfigs named_configs(const std::vector<std::string>& words);

}  // namespace gemm_tune
