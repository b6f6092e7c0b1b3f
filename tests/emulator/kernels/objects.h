// SPDX-License-Identifier: Apache-2.0
// The configs that the tests load, and where the build puts the shared object of each.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gemm_tune::emulator {

// The config, as an identifier, with what stands behind it; CMakeLists.txt names the shared objects
// by the same rule.
inline std::string identifier(const std::string& config) {
  std::string name;
  for (const char c : config) {
    if (c == '/' || c == ',' || c == ' ' || c == '+') {
      name += '_';
    } else if (c != '=') {
      name += c;
    }
  }
  return name;
}

// The configs of a list, one on each line that is not empty and no comment.
inline std::vector<std::string> configs_in(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> configs;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') configs.push_back(line);
  }
  return configs;
}

inline std::filesystem::path object_of(const std::string& config) {
  return std::string(GT_EMULATOR_OBJECTS) + "/" + identifier(config) + ".so";
}

}  // namespace gemm_tune::emulator
