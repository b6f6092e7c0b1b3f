// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/share.h"

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(ShareTest, APercentageAndANumberUpToOneAreTheSameShare) {
  EXPECT_DOUBLE_EQ(parse_share("--within", "5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("--within", "0.05"), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("--within", "0"), 0);
  EXPECT_DOUBLE_EQ(parse_share("--gpu-share", "1", 0.01), 1);
  EXPECT_DOUBLE_EQ(parse_share("--gpu-share", "1%", 0.01), 0.01);
}

TEST(ShareTest, ANumberAboveOneIsNoPercentage) {
  for (const char* text : {"20", "101%", "-0.1", "nan", "%", "", "20%%", "half"}) {
    EXPECT_THAT([&] { parse_share("--within", text); },
                ThrowsMessage<UsageError>(HasSubstr("' is not a share from 0% to 100%")))
        << text;
  }
  EXPECT_THAT(
      [] { parse_share("--gpu-share", "0.5%", 0.01); },
      ThrowsMessage<UsageError>(HasSubstr("--gpu-share '0.5%' is not a share from 1% to 100%")));
}

}  // namespace
}  // namespace gemm_tune
