// Walks the raw points of a family's search space, rules not applied. For tests only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernel_templates/registry.h"

namespace gemm_tune {

// Every combination of the values that a search tries, the last parameter fastest.
inline std::vector<std::vector<int>> raw_points(const KernelFamily& family) {
  std::vector<std::vector<int>> points = {{}};
  for (const ParamSpec& param : family.params) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& point : points) {
      for (const int value : param.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

inline std::vector<std::vector<int>> valid_points(const KernelFamily& family) {
  std::vector<std::vector<int>> valid;
  for (std::vector<int>& point : raw_points(family)) {
    if (!family.reject(point)) valid.push_back(std::move(point));
  }
  return valid;
}

inline KnownConfig known(std::string_view text) { return check_config(parse_config(text)); }

}  // namespace gemm_tune
