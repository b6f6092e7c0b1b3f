// SPDX-License-Identifier: Apache-2.0
#include "core/candidate/config.h"

#include <string>

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(ConfigTest, TextNamesFamilyAndParametersInOrder) {
  const Config config{"vectorized_2d", {{"BM", 128}, {"BN", 64}, {"PRED", 0}}};
  EXPECT_EQ(to_string(config), "vectorized_2d/BM=128,BN=64,PRED=0");
}

TEST(ConfigTest, ParsingInvertsToString) {
  for (const char* text : {"naive/BM=16", "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4",
                           "f/A=-1,B=0,C=2147483647"}) {
    EXPECT_EQ(to_string(parse_config(text)), text);
  }
}

TEST(ConfigTest, GetsAParameterByName) {
  const Config config = parse_config("naive/BM=16,BN=32");
  EXPECT_EQ(config.get("BN"), 32);
  EXPECT_EQ(config.get("BK"), std::nullopt);
}

TEST(ConfigTest, RejectsMalformedTextByItsPart) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"", "''"},
      {"naive", "'naive'"},
      {"/BM=16", "'/BM=16'"},
      {"naive/", "''"},
      {"naive/BM", "'BM'"},
      {"naive/=16", "'=16'"},
      {"naive/BM=", "'BM='"},
      {"naive/BM=x", "'BM=x'"},
      {"naive/BM=16 ", "'BM=16 '"},
      {"naive/BM=1.5", "'BM=1.5'"},
      {"naive/BM=99999999999", "'BM=99999999999'"},
      {"naive/BM=16,,BN=16", "''"},
      {"naive/BM=16,BN=16,", "''"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_THAT(
        [&text = text] { parse_config(text); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr(std::string(part) + " in config '" + text + "'"),
                                        HasSubstr("write family/NAME=VALUE"))))
        << text;
  }
}

TEST(ConfigTest, RefusesAParameterThatIsNamedTwice) {
  EXPECT_THAT([] { parse_config("naive/BM=16,BM=32"); },
              ThrowsMessage<UsageError>(HasSubstr("names BM twice")));
}

}  // namespace
}  // namespace gemm_tune
