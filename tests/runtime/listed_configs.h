// SPDX-License-Identifier: Apache-2.0
// Lists of configs that programs launch on a GPU, as every_feature.txt: a line has a problem and a
// config, or is empty or a comment (#).
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

struct ListedConfig {
  Problem problem;
  KnownConfig config;
};

// Throws UsageError where the file, a problem or a config cannot be read.
inline std::vector<ListedConfig> listed_configs(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("'" + path + "' cannot be read");
  std::vector<ListedConfig> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string problem, config;
    words >> problem >> config;
    all.push_back({parse_problem(problem), check_config(parse_config(config))});
  }
  return all;
}

}  // namespace gemm_tune
