// SPDX-License-Identifier: Apache-2.0
#include "core/files/own_binary.h"

#include <gtest/gtest.h>

#include <optional>

namespace gemm_tune {
namespace {

TEST(OwnBinaryTest, TheProgramIsFoundWithoutProcToo) {
  const auto program = own_program();
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(program->filename(), "core_test");
  EXPECT_EQ(own_program("/no/such/link"), program);
  EXPECT_EQ(own_binary(), program);  // holds this code itself
}

}  // namespace
}  // namespace gemm_tune
