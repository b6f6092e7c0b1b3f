// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/short_report.h"

#include <sstream>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/tuner/report/sample_reports.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

using sample::kLongConfig;
using sample::measured;
using sample::predicted;
using sample::with_every_remark;

constexpr PageForm kTerminal = {80, false};

Target target(const char* arch, bool measurable) {
  return {find_device_spec(arch).value(), measurable, {}, "", "no GPU was found"};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ShortReportTest, APredictionIsTheWinnerItsLabelsTheCountsAndThreeReasons) {
  EXPECT_EQ(short_text(predicted(), target("sm_86", false), kTerminal),
            "1024x1024x1024 on NVIDIA RTX A6000 (sm_86, 84 SMs), 17.0 s\n"
            "  winner   warp_tiled/CLUSTER=0,BM=64,BN=128,BK=8,WM=32,WN=128,TM=8,TN=16,\n"
            "           WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,\n"
            "           SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0\n"
            "  time     84.768 us, 25.3 TFLOP/s (predicted, not timed)\n"
            "  model    constants for sm_86 never measured here; kernels compiled for sm_86\n"
            "           and emulated, never executed on one\n"
            "  tried    16 of 252,727 candidates, budget 16: 16 predicted\n"
            "  rejected 559 M: 282 M warp tile does not divide CTA tile; 255 M warp tile is\n"
            "           not that of 4 x 8 or 8 x 4 lan...; 22 M more than 512 threads per CTA\n"
            "  prior    static model\n");
}

TEST(ShortReportTest, AMeasuredWinnerHasItsIntervalAndItsSharesOfCublasHotAndCold) {
  const std::string text = short_text(measured(), target("sm_90", true), kTerminal);
  EXPECT_THAT(text, HasSubstr("  time     50 us (95 %: 49 to 51.25), 42.9 TFLOP/s; cold 64 us\n"
                              "  speed    0.800 of cublasSgemm 13.1.0 hot, 1.250 cold; error 1.5 "
                              "of its\n"));
  EXPECT_THAT(text, HasSubstr("  tried    16 of 252,727 candidates, budget 16: 14 timed, 2 "
                              "rejected by\n           resources\n"));
  EXPECT_THAT(text, HasSubstr("  more     16 tries would likely gain 1.2 %\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("predicted")), Not(HasSubstr("never"))));
  EXPECT_EQ(lines_of(text).size(), 12u);
}

TEST(ShortReportTest, KernelsThatWereJustTimedAreNotCalledUnexecuted) {
  EXPECT_THAT(short_text(measured(), target("sm_86", true), kTerminal),
              HasSubstr("  model    constants for sm_86 never measured here\n"));
}

TEST(ShortReportTest, NoReportHasMoreThanTwelveLinesOrOneWiderThanThePage) {
  for (const ProblemReport& report : {predicted(), measured(), with_every_remark()}) {
    for (const char* arch : {"sm_86", "sm_90"}) {
      for (const bool measurable : {false, true}) {
        for (const std::size_t columns : {80u, 100u, 200u}) {
          const std::string text =
              short_text(report, target(arch, measurable), PageForm{columns, false});
          EXPECT_LE(lines_of(text).size(), 12u) << text;
          for (const std::string& line : lines_of(text)) {
            EXPECT_LE(columns_of(line), columns) << line;
          }
          EXPECT_EQ(text.find("(predicted, not timed)") == text.npos, measurable) << text;
        }
      }
    }
  }
}

TEST(ShortReportTest, RemarksWithoutRoomAreCounted) {
  const std::string text = short_text(with_every_remark(), target("sm_90", true), kTerminal);
  EXPECT_THAT(lines_of(text).back(), testing::MatchesRegex("  and      [0-9]+ more remarks: "
                                                           "--why shows them"));
  EXPECT_THAT(text, HasSubstr("  noise    2 of 15 samples under power brake\n"));
}

TEST(ShortReportTest, AWiderPageTakesFewerLines) {
  const std::string text = short_text(predicted(), target("sm_86", false), PageForm{200, false});
  EXPECT_EQ(lines_of(text).size(), 7u) << text;
  EXPECT_THAT(text, HasSubstr(std::string("  winner   ") + kLongConfig + "\n"));
}

TEST(ShortReportTest, AConfigForAProgramIsWholeWhateverTheWidth) {
  const std::string text = short_text(predicted(), target("sm_86", false), PageForm{80, true});
  EXPECT_THAT(text, HasSubstr(std::string("\n  winner   ") + kLongConfig + "\n"));
  for (const std::string& line : lines_of(text)) {
    const bool has_config = line.find(kLongConfig) != line.npos;
    EXPECT_TRUE(has_config || line.size() <= 80) << line;
  }
}

TEST(ShortReportTest, AProblemWithoutAWinnerSaysWhy) {
  ProblemReport none = predicted();
  none.winner.reset();
  none.funnel.survived = 0;
  none.funnel.rejected_by_resources = {{"registers spill to local memory", 16}};
  EXPECT_THAT(short_text(none, target("sm_86", false), kTerminal),
              HasSubstr("  winner   none: no candidate survived: registers spill to local memory "
                        "(16 of\n           16 tried)\n"));
  none.failure = "it needs 90 GiB";
  const std::string unfit = short_text(none, target("sm_86", false), kTerminal);
  EXPECT_THAT(unfit,
              AllOf(HasSubstr("  winner   none: it needs 90 GiB\n"), Not(HasSubstr("tried    "))));
}

TEST(BrokenLinesTest, LinesAreBrokenBehindTheSeparatorAndNeverInsideAPiece) {
  EXPECT_THAT(broken_lines("one two three", ' ', 7, 2), testing::ElementsAre("one two", "  three"));
  EXPECT_THAT(broken_lines("a=1,b=2,c=3", ',', 8, 0), testing::ElementsAre("a=1,b=2,", "c=3"));
  EXPECT_THAT(broken_lines("a=1,b=2  3 us", ' ', 8, 2), testing::ElementsAre("a=1,b=2", "  3 us"));
  EXPECT_THAT(broken_lines("  label  longer-than-that", ' ', 8, 2),
              testing::ElementsAre("  label", "  longer-than-that"));
  EXPECT_THAT(broken_lines("", ' ', 80, 2), testing::ElementsAre(""));
}

}  // namespace
}  // namespace gemm_tune
