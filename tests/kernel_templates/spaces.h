// SPDX-License-Identifier: Apache-2.0
// Points of a family's search space for tests to walk: all of a small space, a sample of a large
// one.
//
// Pure: the same points on every machine. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// Of the registry.
inline std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const KernelFamily& family : families()) names.push_back(family.name);
  return names;
}

// A config's values in the order of the family's parameters, without a look at its rules.
inline std::vector<int> values_in(const KernelFamily& family, const Config& config) {
  std::vector<int> values;
  for (const ParamSpec& param : family.params) {
    const std::optional<int> named = config.get(param.name);
    values.push_back(named ? *named : param.default_value.value());
  }
  return values;
}

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

// Whether raw_points() fits a test: the new families' raw spaces hold up to 10^9.
inline bool is_small(const KernelFamily& family) {
  std::size_t points = 1;
  for (const ParamSpec& param : family.params) points *= param.values.size();
  return points <= 100'000;
}

constexpr int kSample = 1000;

// One value after another at random, where possible one that breaks no rule yet; empty where that
// led nowhere.
inline std::vector<int> walk_to_a_valid_point(const KernelFamily& family, std::mt19937& random) {
  std::vector<int> point(family.params.size(), 1);
  for (std::size_t i = 0; i < point.size(); ++i) {
    std::vector<int> open;
    for (const int value : family.params[i].values) {
      point[i] = value;
      bool broken = false;
      for (const FamilyRule& rule : family.rules) {
        broken = broken || (rule.reads.back() == i && rule.broken(point));
      }
      if (!broken) open.push_back(value);
    }
    if (open.empty()) return {};
    point[i] = open[random() % open.size()];
  }
  if (family.reject(point)) return {};
  return point;
}

// All valid points of a small space, else a sample in which every value of every parameter occurs.
inline std::vector<std::vector<int>> some_valid_points(const KernelFamily& family) {
  if (is_small(family)) return valid_points(family);
  std::mt19937 random(1);
  std::vector<std::vector<int>> points;
  while (points.size() < kSample) {
    std::vector<int> point = walk_to_a_valid_point(family, random);
    if (!point.empty()) points.push_back(std::move(point));
  }
  return points;
}

// All raw points of a small space; else valid ones with one value or all values changed at random,
// so that the later rules get something to reject.
inline std::vector<std::vector<int>> some_raw_points(const KernelFamily& family) {
  if (is_small(family)) return raw_points(family);
  std::mt19937 random(3);
  const auto any_value = [&](std::size_t i) {
    const std::vector<int>& values = family.params[i].values;
    return values[random() % values.size()];
  };
  std::vector<std::vector<int>> points = some_valid_points(family);
  for (std::vector<int>& point : points) {
    if (random() % 4 == 0) {
      for (std::size_t i = 0; i < point.size(); ++i) point[i] = any_value(i);
    } else {
      const std::size_t i = random() % point.size();
      point[i] = any_value(i);
    }
  }
  return points;
}

inline KnownConfig known(std::string_view text) { return check_config(parse_config(text)); }

}  // namespace gemm_tune
