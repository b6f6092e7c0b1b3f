// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/running_program.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

using Variables = std::map<std::string, std::string>;

TEST(RunningProgramTest, AnEnvironmentIsReadAsGetenvReadsIt) {
  constexpr char kText[] = "A=1\0B==x y\0C=\0no sign\0A=2\0D=cut off";
  EXPECT_EQ(parse_environment(std::string(kText, sizeof kText - 1)),
            (Variables{{"A", "1"}, {"B", "=x y"}, {"C", ""}, {"D", "cut off"}}));
  EXPECT_EQ(parse_environment(""), Variables());
}

}  // namespace
}  // namespace gemm_tune
