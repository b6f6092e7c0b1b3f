// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page/report_page.h"

#include <cmath>

#include "tests/db/fixture.h"
#include "tests/matchers.h"
#include "tuner/report/page/database_summary.h"
#include "tuner/report/page/problem_summary.h"

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

const DeviceKey kCard{"sm_90", "NVIDIA H100 80GB HBM3", 132};
const KernelRevisions kKernels = {{"tiled_2d", "today"}, {"naive", "today"}};

std::string config(int bm, int tm) {
  return "tiled_2d/BM=" + std::to_string(bm) + ",BN=64,BK=8,TM=" + std::to_string(tm) +
         ",TN=4,PRED=0";
}

// A row at the second of a run.
Record stored_at(const std::string& config_text, double second, const Outcome& outcome,
                 const std::string& run = "first") {
  Record record;
  record.device = kCard;
  record.problem = packed_problem(1024, 1024, 1024);
  record.config = config_text;
  record.revision = "today";
  record.outcome = outcome;
  record.source = Source::measured;
  char moment[32];
  std::snprintf(moment, sizeof moment, "2026-11-21T12:%02d:%06.3fZ", static_cast<int>(second / 60),
                std::fmod(second, 60));
  record.recorded_at = moment;
  record.run.uuid = run;
  record.run.cuda_version = "13.0";
  record.run.driver_version = "580.159.04";
  return record;
}

Outcome timed(double us) {
  Outcome outcome;
  outcome.timing = Timing{us, {us}, 1};
  return outcome;
}

DatabaseSummary summary_of(const std::vector<Record>& rows) {
  DatabaseSummary summary(kKernels);
  for (const Record& one : rows) summary.add(one, true);
  return summary;
}

TEST(ExplainedShare, IsEtaSquaredOfTheLogarithms) {
  const double e = std::exp(1);
  // Logarithms 0 and 2 at the value 1, 2 and 4 at the value 2: 4 of 8 lie between the values.
  EXPECT_NEAR(*explained_share({{1, 1}, {1, e * e}, {2, e * e}, {2, e * e * e * e}}), 0.5, 1e-12);
  EXPECT_NEAR(*explained_share({{1, 3}, {1, 3}, {2, 5}}), 1, 1e-12);
}

TEST(ExplainedShare, OfOneValueOrEqualTimesIsNone) {
  EXPECT_EQ(explained_share({}), std::nullopt);
  EXPECT_EQ(explained_share({{1, 3}, {1, 4}}), std::nullopt);
  EXPECT_EQ(explained_share({{1, 3}, {2, 3}}), std::nullopt);
}

TEST(Thinned, KeepsTheFirstHalfAndAnEvenChoiceOfTheOthers) {
  EXPECT_THAT(thinned(3, 8), ElementsAre(0, 1, 2));
  EXPECT_THAT(thinned(10, 6), ElementsAre(0, 1, 2, 3, 6, 9));
  EXPECT_THAT(thinned(10, 1), ElementsAre(0));
  EXPECT_THAT(thinned(10, 0), IsEmpty());
}

TEST(StoredClock, LeavesOutPausesBetweenRuns) {
  StoredClock clock;
  EXPECT_DOUBLE_EQ(*clock.at("a", "2026-11-21T12:00:00.500Z"), 0);
  EXPECT_DOUBLE_EQ(*clock.at("a", "2026-11-21T12:00:04.000Z"), 3.5);
  EXPECT_DOUBLE_EQ(*clock.at("b", "2026-11-22T00:00:00.000Z"), 3.5);
  EXPECT_DOUBLE_EQ(*clock.at("b", "2026-11-22T00:00:01.000Z"), 4.5);
  EXPECT_EQ(clock.at("b", "yesterday"), std::nullopt);
  EXPECT_FALSE(clock.runs());
}

TEST(DatabaseSummary, HoldsOutcomesStepsMapsAndShares) {
  const Json json =
      summary_of({stored_at(config(64, 4), 0, timed(90)),
                  stored_at(config(64, 8), 1, failed(Disposition::rejected, "no CTA fits an SM")),
                  stored_at(config(128, 8), 2.5, timed(60)),
                  stored_at(config(32, 8), 3, timed(75))})
          .json();
  EXPECT_EQ(json["rows"], 4);
  EXPECT_EQ(json["environments"], (Json{"CUDA 13.0, driver 580.159.04"}));
  const Json& problem = json["problems"][0];
  EXPECT_EQ(problem["problem"], "1024x1024x1024");
  EXPECT_EQ(problem["source"], "measured");
  EXPECT_EQ(problem["tried"], 4);
  EXPECT_EQ(problem["timed"], 3);
  EXPECT_EQ(problem["flops"], 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(problem["bytes"], 3 * 4.0 * 1024 * 1024);
  const Json& detail = problem["detail"];
  EXPECT_EQ(detail["outcomes"], (Json{{"ok", 3}, {"rejected", 1}, {"finalists", 0}, {"tied", 0}}));
  EXPECT_EQ(detail["reasons"], (Json{{"rejected", "no CTA fits an SM", 1, false}}));
  // Try, seconds, time; a failure is a try.
  EXPECT_EQ(detail["steps"], (Json{{1, 0.0, 90.0}, {3, 2.5, 60.0}}));
  EXPECT_EQ(detail["seconds"], 3.0);
  EXPECT_EQ(detail["tiles"], (Json{{32, 64, 75.0, 1}, {64, 64, 90.0, 1}, {128, 64, 60.0, 1}}));
  EXPECT_EQ(detail["thread_tiles"], (Json{{4, 4, 90.0, 1}, {8, 4, 60.0, 2}}));
  EXPECT_EQ(detail["shares"][0], (Json{"BM", 1.0, 3, 3}));
  EXPECT_EQ(detail["shares"][1][0], "TM");
  EXPECT_EQ(detail["points"]["us"], (Json{60.0, 75.0, 90.0}));
  EXPECT_EQ(detail["points"]["try"], (Json{3, 4, 1}));
  EXPECT_EQ(json["forms"],
            (Json{{{"family", "tiled_2d"}, {"params", {"BM", "BN", "BK", "TM", "TN", "PRED"}}}}));
  EXPECT_EQ(json["configs"][detail["points"]["config"][0].get<std::size_t>()],
            (Json{0, 128, 64, 8, 8, 4, 0}));
}

TEST(DatabaseSummary, AFinalistCountsOnceWithItsLastTimeAndStepsWithItsFirst) {
  DatabaseSummary summary(kKernels);
  summary.add(stored_at(config(64, 4), 0, timed(90)), false);
  Outcome in_finals = timed(88);
  in_finals.ranking = Ranking{1, {}, true, true};
  summary.add(stored_at(config(64, 4), 5, in_finals), true);
  const Json problem = summary.json()["problems"][0];
  EXPECT_EQ(problem["tried"], 1);
  EXPECT_EQ(problem["detail"]["outcomes"], (Json{{"ok", 1}, {"finalists", 1}, {"tied", 1}}));
  EXPECT_EQ(problem["detail"]["steps"], (Json{{1, 0.0, 90.0}}));
  EXPECT_EQ(problem["detail"]["points"]["us"], (Json{88.0}));
}

TEST(DatabaseSummary, ReasonsThatDifferInNumbersOnlyCountAsOne) {
  const Json json =
      summary_of(
          {stored_at(config(16, 4), 0, failed(Disposition::wrong_result, "element 3 is 5")),
           stored_at(config(32, 4), 1, failed(Disposition::crashed, "signal")),
           stored_at(config(64, 4), 2, failed(Disposition::wrong_result, "element 17 is 8"))})
          .json();
  EXPECT_EQ(json["problems"][0]["detail"]["reasons"],
            (Json{{"wrong_result", "element 3 is 5", 2, true}, {"crashed", "signal", 1, false}}));
}

TEST(DatabaseSummary, RowsOfOtherRevisionsAreCountedAndNotShown) {
  Record other = stored_at(config(64, 4), 0, timed(1));
  other.revision = "yesterday";
  const Json json = summary_of({other, stored_at(config(64, 4), 1, timed(90))}).json();
  EXPECT_EQ(json["rows"], 1);
  EXPECT_EQ(json["rows_of_other_revisions"], 1);
  EXPECT_EQ(json["problems"][0]["detail"]["points"]["us"], (Json{90.0}));
}

TEST(DatabaseSummary, PredictionsAreShownOnlyWhereNothingWasMeasured) {
  Record guess = stored_at(config(64, 4), 0, predicted(80));
  guess.source = Source::predicted;
  EXPECT_EQ(summary_of({guess}).json()["problems"][0]["source"], "predicted");
  const Json both =
      summary_of({guess, stored_at(config(64, 4), 1, timed(90))}).json()["problems"][0];
  EXPECT_EQ(both["source"], "measured");
  EXPECT_EQ(both["tried"], 1);
  EXPECT_EQ(both["detail"]["points"]["us"], (Json{90.0}));
}

TEST(DatabaseSummary, AWinnerHasItsBaselines) {
  const Record best = stored_at(config(64, 4), 0, timed(90));
  DatabaseSummary summary = summary_of({best});
  Timing cold{100, {100}, 1};
  cold.cold_us = 120;
  summary.set_winner(
      best, {{"cublasSgemm", "13.1.0", cold}, {"cublasLt", "13.1.0", Timing{95, {95}, 1}}});
  EXPECT_EQ(
      summary.json()["problems"][0]["winner"],
      (Json{
          {"config", config(64, 4)},
          {"source", "measured"},
          {"us", 90.0},
          {"cold_us", nullptr},
          {"baselines",
           {{{"name", "cublasSgemm 13.1.0"}, {"kind", "cublas"}, {"us", 100.0}, {"cold_us", 120.0}},
            {{"name", "cublasLt 13.1.0"},
             {"kind", "cublaslt"},
             {"us", 95.0},
             {"cold_us", nullptr}}}}}));
}

TEST(DatabaseSummary, PeaksAreThoseOfAListedCard) {
  const Json known = summary_of({stored_at(config(64, 4), 0, timed(90))}).json()["devices"][0];
  EXPECT_EQ(known["rates"]["fp32"], 66.908);  // 132 SMs x 128 lanes x 2 x 1980 MHz
  EXPECT_EQ(known["rates"]["dram_gb_per_s"], 3350.0);
  Record unknown = stored_at(config(64, 4), 0, timed(90));
  unknown.device.name = "NVIDIA H100 PCIe";
  EXPECT_EQ(summary_of({unknown}).json()["devices"][0]["rates"], nullptr);
}

TEST(DatabaseSummary, IsThinnedUntilItFits) {
  DatabaseSummary summary(kKernels);
  for (int size = 1; size <= 60; ++size) {
    for (int i = 1; i <= 40; ++i) {
      Record one = stored_at(config(16 * i, 4), i, timed(100 + i));
      one.problem = packed_problem(size, 64, 64);
      summary.add(one, true);
    }
  }
  SummaryLimits limits;
  EXPECT_EQ(summary.json(limits)["problems"][59]["detail"]["points"]["us"].size(), 40u);
  limits.bytes = 60'000;
  const Json json = summary.json(limits);
  EXPECT_LE(json.dump().size(), 60'000u);
  EXPECT_EQ(json["problem_count"], 60);
  EXPECT_LT(json["problems"].size(), 60u);
  EXPECT_GT(json["problems"].size(), 5u);
  limits.bytes = 1;
  EXPECT_EQ(summary.json(limits)["problems"].size(), 1u) << "no limit leaves nothing";
}

TEST(ReportPage, DataCannotEndItsElement) {
  const Json hostile = {{"a", "</script><!-- & \u2028\u2029 \"'"}};
  const std::string text = json_for_page(hostile);
  EXPECT_EQ(text, "{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\\u2029 \\\"'\"}");
  EXPECT_EQ(Json::parse(text), hostile);
}

TEST(ReportPage, HoldsEverythingAndMayLoadNothing) {
  const Json data = {{"database", "@script@ </title>"}};
  const std::string page = report_page(data);
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'; script-src 'unsafe-inline'"),
                          HasSubstr("{\"database\":\"@script@ \\u003c/title\\u003e\"}"),
                          HasSubstr("Chart.js v3"), HasSubstr("Released under the MIT License"),
                          HasSubstr("prefers-color-scheme: dark")));
  for (const char* loads : {"src=", "href=", "url(", "@import", "fetch(", "innerHTML"}) {
    EXPECT_THAT(std::string(kPageHtml) + kPageStyle + kPageScript, Not(HasSubstr(loads)));
  }
  for (const char* left : {"@style@", "@data@", "@chart@"}) EXPECT_THAT(page, Not(HasSubstr(left)));
}

}  // namespace
}  // namespace gemm_tune
