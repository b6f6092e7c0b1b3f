// SPDX-License-Identifier: Apache-2.0
#include "core/candidate/outcome.h"

#include <limits>
#include <optional>
#include <string>

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(OutcomeTest, DispositionsAreWordsThatParseBack) {
  const struct {
    Disposition disposition;
    const char* word;
  } cases[] = {
      {Disposition::ok, "ok"},
      {Disposition::rejected, "rejected"},
      {Disposition::compile_failed, "compile_failed"},
      {Disposition::launch_failed, "launch_failed"},
      {Disposition::wrong_result, "wrong_result"},
      {Disposition::timed_out, "timed_out"},
      {Disposition::crashed, "crashed"},
  };
  for (const auto& [disposition, word] : cases) {
    EXPECT_EQ(to_string(disposition), word);
    EXPECT_EQ(parse_disposition(word), disposition);
  }
}

TEST(OutcomeTest, SourcesAreWordsThatParseBack) {
  EXPECT_EQ(to_string(Source::measured), "measured");
  EXPECT_EQ(to_string(Source::predicted), "predicted");
  EXPECT_EQ(parse_source("measured"), Source::measured);
  EXPECT_EQ(parse_source("predicted"), Source::predicted);
}

TEST(OutcomeTest, AnErrorOfZeroIsAnErrorAndAnUnknownOneIsNot) {
  EXPECT_EQ(error_ratio(3e-7, 2e-7), 1.5);
  EXPECT_EQ(error_ratio(0.0, 2e-7), 0);
  EXPECT_EQ(error_ratio(0.0, 0.0), 1);
  EXPECT_EQ(error_ratio(1e-9, 0.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(error_ratio(std::nullopt, 0.0), std::nullopt);
  EXPECT_EQ(error_ratio(1e-9, std::nullopt), std::nullopt);
}

TEST(OutcomeTest, RejectsUnknownWordsByName) {
  for (const std::string word : {"", "OK", "okay", "ok "}) {
    EXPECT_THAT([&] { parse_disposition(word); },
                ThrowsMessage<Error>(HasSubstr("'" + word + "'")));
    EXPECT_THROW(parse_source(word), Error);
  }
}

TEST(OutcomeTest, EqualityCoversTheOptionalParts) {
  Outcome left, right;
  EXPECT_EQ(left, right);
  left.predicted_us = 1.5;
  EXPECT_NE(left, right);
  right.predicted_us = 1.5;
  left.resources = Resources{};
  EXPECT_NE(left, right);
  right.resources = Resources{};
  left.timing = Timing{2.0, {1.0, 2.0, 3.0}, 10};
  right.timing = Timing{2.0, {1.0, 2.0, 3.5}, 10};
  EXPECT_NE(left, right);
}

}  // namespace
}  // namespace gemm_tune
