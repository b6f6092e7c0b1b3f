// SPDX-License-Identifier: Apache-2.0
// A test whose parameter is a line of a list of configs: its kernel's object, and checks of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/emulator/kernels/emulated_kernel.h"
#include "tests/emulator/kernels/objects.h"

namespace gemm_tune::emulator {

// The line's config, without the definitions behind it.
inline std::string config_of(const std::string& line) { return line.substr(0, line.find(' ')); }

class ListedKernelTest : public testing::TestWithParam<std::string> {
 protected:
  ListedKernelTest() : kernel_(object_of(GetParam()), config_of(GetParam())) {}

  void check(const std::vector<Case>& cases) {
    ASSERT_FALSE(cases.empty());
    for (const Case& c : cases) {
      const auto wrong = kernel_.check(c);
      ASSERT_FALSE(wrong) << to_string(c) << ": " << *wrong;
    }
  }

  const KnownConfig& config() const { return kernel_.config(); }

 private:
  EmulatedKernel kernel_;
};

// The lines whose kernels share tiles between CTAs.
inline std::vector<std::string> sharing(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) {
    return !shares_tiles(check_config(parse_config(config_of(line))));
  });
  return lines;
}

inline std::string name_of(const testing::TestParamInfo<std::string>& instance) {
  return identifier(instance.param);
}

}  // namespace gemm_tune::emulator
