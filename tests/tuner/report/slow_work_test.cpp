// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/slow_work.h"

#include <string>

#include "tests/matchers.h"
#include "tests/tuner/report/captured_stderr.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

constexpr SlowWork::Pace kAtOnce{1ms, 20ms, 20ms};
constexpr SlowWork::Pace kNever{1h, 1h, 1h};

TEST(SlowWorkTest, WorkThatEndsSoonSaysNothing) {
  for (const Stderr::Kind kind : {Stderr::Kind::pipe, Stderr::Kind::terminal}) {
    Stderr err(kind);
    { const SlowWork slow(false, "reading", kNever); }
    EXPECT_EQ(err.whole(), "end");
  }
}

TEST(SlowWorkTest, APersonWhoWaitsHearsWithinSecondsByDefault) {
  constexpr SlowWork::Pace kDefault;
  EXPECT_EQ(kDefault.first, 2s);
  EXPECT_LE(kDefault.elsewhere, 10s);
}

TEST(SlowWorkTest, EachLineSaysTheStageThatIsReachedByThen) {
  Stderr err(Stderr::Kind::pipe);
  {
    SlowWork slow(false, "reading a\033[1m", kAtOnce);
    err.until("\n");
    slow.now_at("reading b");
    err.until("\ngemm-tune: reading b\n");
  }
  const std::string text = err.whole();
  EXPECT_THAT(text, StartsWith("gemm-tune: reading a\\x1b[1m\n")) << "no terminal obeys a name";
  EXPECT_EQ(text.find("reading a", text.find("reading b")), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(SlowWorkTest, QuietWorkSaysNothingHoweverLongItTakes) {
  Stderr err(Stderr::Kind::pipe);
  {
    SlowWork quiet(true, "reading a", kAtOnce);
    const SlowWork loud(false, "reading b", kAtOnce);
    for (int i = 0; i < 5; ++i) err.until("reading b\n");
    quiet.now_at("still reading a");
    for (int i = 0; i < 5; ++i) err.until("reading b\n");
  }
  EXPECT_EQ(err.whole().find("reading a"), std::string::npos);
}

TEST(SlowWorkTest, ATerminalHasOneShortLineThatGoesWithTheWork) {
  Stderr err(Stderr::Kind::terminal);
  {
    const SlowWork slow(false, "reading " + std::string(200, 'x') + ": 7 of 9", {1ms, 1h, 1h});
    err.until("7 of 9");
  }
  const std::string text = err.whole();
  EXPECT_THAT(text, StartsWith("gemm-tune: reading xxx"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.find('\r'), 80u);
  EXPECT_THAT(text, HasSubstr(" bytes ...]"));
  EXPECT_THAT(text, HasSubstr(": 7 of 9\r")) << "how far it is";
  EXPECT_THAT(text, testing::EndsWith("\r\033[Kend"));
}

TEST(SlowWorkTest, AResultIsPrintedWhereTheLineStood) {
  Stderr err(Stderr::Kind::terminal);
  {
    SlowWork slow(false, "reading", {1ms, 1h, 1h});
    err.until("reading");
    slow.clear();
    std::fputs("result;", stderr);
  }
  EXPECT_EQ(err.whole(), "gemm-tune: reading\r\033[Kresult;end");
}

}  // namespace
}  // namespace gemm_tune
