// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/slow_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr SlowWork::Pace kAtOnce{1ms, 1ms, 1ms};
constexpr SlowWork::Pace kNever{1h, 1h, 1h};

// What stderr gets, which is no terminal.
template <class Work>
std::string stderr_of(const Work& work) {
  testing::internal::CaptureStderr();
  work();
  std::fflush(stderr);
  return testing::internal::GetCapturedStderr();
}

// What a terminal that is stderr gets.
template <class Work>
std::string terminal_of(const Work& work) {
  int terminal = -1, program = -1;
  if (openpty(&terminal, &program, nullptr, nullptr, nullptr) != 0) return "no terminal";
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(program, STDERR_FILENO);
  work();
  std::fputs("end", stderr);
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  close(program);
  std::string text;
  std::array<char, 256> chunk{};
  for (ssize_t size = 0;
       !text.ends_with("end") && (size = read(terminal, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  close(terminal);
  return text;
}

TEST(SlowWorkTest, WorkThatEndsSoonSaysNothing) {
  const auto work = [] { const SlowWork slow(false, "reading", kNever); };
  EXPECT_EQ(stderr_of(work), "");
  EXPECT_EQ(terminal_of(work), "end");
}

TEST(SlowWorkTest, APersonWhoWaitsHearsWithinSecondsByDefault) {
  constexpr SlowWork::Pace kDefault;
  EXPECT_EQ(kDefault.first, 2s);
  EXPECT_LE(kDefault.elsewhere, 10s);
}

TEST(SlowWorkTest, EachLineSaysTheStageThatIsReachedByThen) {
  const std::string text = stderr_of([] {
    SlowWork slow(false, "reading a\033[1m", kAtOnce);
    std::this_thread::sleep_for(200ms);
    slow.now_at("reading b");
    std::this_thread::sleep_for(200ms);
  });
  EXPECT_THAT(text, StartsWith("gemm-tune: reading a\\x1b[1m\n")) << "no terminal obeys a name";
  EXPECT_THAT(text, HasSubstr("\ngemm-tune: reading b\n"));
  EXPECT_EQ(text.rfind("reading a"), text.rfind("reading a", text.find("reading b")));
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(SlowWorkTest, QuietWorkSaysNothingHoweverLongItTakes) {
  EXPECT_EQ(stderr_of([] {
              SlowWork slow(true, "reading", kAtOnce);
              slow.now_at("still reading");
              std::this_thread::sleep_for(50ms);
            }),
            "");
}

TEST(SlowWorkTest, ATerminalHasOneShortLineThatGoesWithTheWork) {
  const std::string text = terminal_of([] {
    const SlowWork slow(false, "reading " + std::string(200, 'x') + ": 7 of 9", {1ms, 1h, 1h});
    std::this_thread::sleep_for(200ms);
  });
  EXPECT_THAT(text, StartsWith("gemm-tune: reading xxx"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.find('\r'), 80u);
  EXPECT_THAT(text, HasSubstr(" bytes ...]"));
  EXPECT_THAT(text, HasSubstr(": 7 of 9\r")) << "how far it is";
  EXPECT_THAT(text, testing::EndsWith("\r\033[Kend"));
}

TEST(SlowWorkTest, AResultIsPrintedWhereTheLineStood) {
  const std::string text = terminal_of([] {
    SlowWork slow(false, "reading", {1ms, 1h, 1h});
    std::this_thread::sleep_for(200ms);
    slow.clear();
    std::fputs("result;", stderr);
  });
  EXPECT_EQ(text, "gemm-tune: reading\r\033[Kresult;end");
}

}  // namespace
}  // namespace gemm_tune
