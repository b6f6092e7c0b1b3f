// SPDX-License-Identifier: Apache-2.0
// Where the build puts a config's shared object: for the tests that load them.
#pragma once

#include <filesystem>
#include <string>

namespace gemm_tune::emulator {

// The config as an identifier; CMakeLists.txt names the shared objects by the same rule.
inline std::string identifier(const std::string& config) {
  std::string name;
  for (const char c : config) {
    if (c == '/' || c == ',') {
      name += '_';
    } else if (c != '=') {
      name += c;
    }
  }
  return name;
}

inline std::filesystem::path object_of(const std::string& config) {
  return std::string(GT_EMULATOR_OBJECTS) + "/" + identifier(config) + ".so";
}

}  // namespace gemm_tune::emulator
