// SPDX-License-Identifier: Apache-2.0
// gemm-tune --m-range as a user runs it, without a GPU.
#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;

// Without what depends on M alone.
std::string for_any_m(std::string config) {
  const std::size_t at = config.find("PRED=0");
  return at == config.npos ? config : config.replace(at, 6, "PRED=1");
}

TEST_F(CliTest, ARangeOfMEndsInATableWhoseConfigsServeEveryM) {
  const std::string db = " --db " + path("t.db");
  const std::string command =
      "--arch sm_86 --m-range 1:48 --sizes 96x64 --config tiled_2d --budget 8 --seed 1";
  const ProgramRun tune = run(command + db);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_THAT(unbroken(tune.output), HasSubstr("1:48x96x64: "));
  EXPECT_THAT(unbroken(tune.output),
              HasSubstr("for all M, within 5 % of the best of 8 at each of the 11 M that were "
                        "tried (predicted, not timed)"));
  const auto json = nlohmann::json::parse(run(command + " --json" + db).output);
  const auto& range = json.at("ranges").at(0);
  EXPECT_EQ(range.at("range"), "1:48x96x64");
  EXPECT_EQ(range.at("rows").size(), 11u);
  const auto configs = range.at("configs").get<std::set<std::string>>();
  ASSERT_FALSE(configs.empty());
  const ProgramRun best = run(
      "best --json --arch sm_86 --sizes 1x96x64,5x96x64,17x96x64,20x96x64,47x96x64,48x96x64" + db);
  ASSERT_EQ(best.exit_code, 0) << best.errors;
  for (const auto& row : nlohmann::json::parse(best.output)) {
    EXPECT_TRUE(configs.contains(for_any_m(row.at("config").get<std::string>()))) << row;
  }
  const ProgramRun header = run("export --arch sm_86" + db);
  EXPECT_EQ(header.exit_code, 0) << header.errors;
  for (const std::string& config : configs) EXPECT_THAT(header.output, HasSubstr(config));
}

TEST_F(CliTest, BatchInvariantConfigsShareOneOrderOfSums) {
  const std::string rest =
      " --arch sm_86 --type bf16 --layout nt --batch-invariant --json --db " + path("t.db");
  const ProgramRun tune = run("--m-range 1:64 --sizes 512x1024 --config mma --budget 12" + rest);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const auto range = nlohmann::json::parse(tune.output).at("ranges").at(0);
  const auto order = range.at("order_of_sums").get<std::string>();
  EXPECT_THAT(order, testing::StartsWith("mma MMA_K="));
  const ProgramRun best =
      run("best --sizes 1x512x1024,7x512x1024,33x512x1024,500x512x1024,33x512x1024:align=2" + rest);
  ASSERT_EQ(best.exit_code, 0) << best.errors;
  for (const auto& row : nlohmann::json::parse(best.output)) {
    EXPECT_THAT(row.at("explanation").get<std::string>(),
                testing::StartsWith("in the order of sums " + order + " for every M: the winner"));
  }
  expect_refusal("--arch sm_86 --sizes 64 --batch-invariant", 2,
                 "--batch-invariant tunes over a range of M");
  expect_refusal("--arch sm_86 --m-range 1:2 --sizes 64 --batch-invariant --config tiled_2d --db " +
                     path("u.db"),
                 4, "no config that could be tried has an order of sums");
  expect_refusal(
      "--dry-run --arch sm_86 --m-range 1:2 --sizes 64 --batch-invariant --config tiled_2d", 4,
      "no config that could be tried has an order of sums");
  const ProgramRun none = run(
      "--arch sm_86 --m-range 1:2 --sizes 64 --batch-invariant --type e4m3/e4m3/bf16/bf16 --db " +
      path("v.db"));
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.output, HasSubstr("no candidate survived"));
}

TEST_F(CliTest, ARangeWithoutAnOrderOfSumsLeavesOthersTheirTable) {
  const std::string rest =
      " --m-range 1:4 --batch-invariant --config naive --config skinny --arch sm_86 --json "
      "--db " +
      path("t.db");
  const ProgramRun two = run("--sizes 64x64:layout=nt,96x64,32x64:layout=nt" + rest);
  EXPECT_EQ(two.exit_code, 4) << two.errors;
  EXPECT_THAT(two.errors, HasSubstr("gemm-tune: 1:4x64x64:layout=nt: no config that could be "
                                    "tried has an order of sums"));
  const auto ranges = nlohmann::json::parse(two.output).at("ranges");
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges.at(0).at("range"), "1:4x96x64");
  const ProgramRun none = run("--sizes 64x64:layout=nt,32x64:layout=nt" + rest);
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_EQ(none.output, "");
  EXPECT_EQ(std::count(none.errors.begin(), none.errors.end(), '\n'), 2) << none.errors;
}

TEST_F(CliTest, UnalignedMOfATransposedAIsServedByATunedKernel) {
  const std::string rest = " --arch sm_90 --type bf16 --json --db " + path("t.db");
  const ProgramRun tune = run("--m-range 64:200 --sizes 512x1024:layout=tn --budget 8" + rest);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const std::string in_range =
      "65x512x1024:layout=tn,100x512x1024:layout=tn,199x512x1024:layout=tn";
  const ProgramRun best = run("best --sizes " + in_range + rest);
  ASSERT_EQ(best.exit_code, 0) << best.errors;
  for (const auto& row : nlohmann::json::parse(best.output)) {
    EXPECT_THAT(row.at("explanation").get<std::string>(), testing::Not(HasSubstr("nothing tuned")))
        << row;
    EXPECT_EQ(row.at("source"), "predicted") << row;
  }
}

TEST_F(CliTest, UnalignedMOfATransposedAIsTriedWhereNoOtherOrderMayServeIt) {
  const std::string rest =
      " --arch sm_90 --type bf16 --batch-invariant --json --db " + path("t.db");
  const ProgramRun tune =
      run("--m-range 64:120 --sizes 256x256:layout=tn,256x256 --config wgmma --budget 8" + rest);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const auto ranges = nlohmann::json::parse(tune.output).at("ranges");
  EXPECT_EQ(ranges.at(0).at("rows").size(), 4u);  // 65 as well
  EXPECT_EQ(ranges.at(1).at("rows").size(), 3u);
  const ProgramRun best = run("best --sizes 80x256x256:layout=tn,99x256x256:layout=tn" + rest);
  EXPECT_EQ(best.exit_code, 0) << best.errors;
  const ProgramRun none = run("best --sizes 80x256x256:align=2" + rest);
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.errors, HasSubstr("with the alignment of its operands, by --m-range and "
                                     "--batch-invariant"));
}

TEST_F(CliTest, ADryRunOfARangeCompilesAndWritesNothing) {
  const std::string command =
      "--arch sm_86 --m-range 1:16 --sizes 96x64 --config tiled_2d --budget 8 --db " + path("t.db");
  const ProgramRun dry = run(command + " --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(unbroken(dry.output), HasSubstr("nothing was compiled"));
  EXPECT_FALSE(std::filesystem::exists(path("t.db")));
  // Without a GPU a run compiles what the static model chooses of the pool.
  const auto range = nlohmann::json::parse(run(command + " --json").output).at("ranges").at(0);
  const auto configs = static_cast<int>(range.at("configs").size());
  EXPECT_LT(configs, 8);
  EXPECT_THAT(
      unbroken(dry.output),
      HasSubstr(fmt::format("12x96x64 on NVIDIA RTX A6000 (sm_86): {} enumerated", configs)));
}

TEST_F(CliTest, RefusesRangesThatAreNoneAndOptionsThatHaveNoUseThere) {
  const std::string rest = " --arch sm_86 --db " + path("t.db");
  const auto refuses = [&](const std::string& arguments, const std::string& text) {
    expect_refusal(arguments + rest, 2, text);
  };
  refuses("--m-range 256:1 --sizes 96x64", "range '256:1' ends before it begins");
  refuses("--m-range 0:8 --sizes 96x64", "range '0:8' is not one of M");
  refuses("--m-range 1:8 --sizes 8x96x64", "size '8x96x64' is not NxK, and --m-range gives M");
  refuses("--m-range 1:8 --sizes 64:128:64", "is not NxK");
  refuses("--m-range 1:8", "name N and K for --m-range with --sizes");
  refuses("--m-range 1:8 --sizes 96x64 --within 7", "--within '7' is not a share from 0% to 100%");
  refuses("--m-range 1:8 --sizes 96x64 --within 5%%", "--within '5%%' is not a share");
  refuses("--m-range 1:8 --sizes 96x64 --target 0.9", "--target has no use");
  refuses("--m-range 1:8 --sizes 96x64 --strategy random", "--strategy has no use");
  refuses("--m-range 1:8 --sizes 96x64 --budget all", "--budget all is too much");
  refuses("--sizes 64 --within 5%", "--within has no use without --m-range");
  EXPECT_FALSE(std::filesystem::exists(path("t.db")));
}

}  // namespace
}  // namespace gemm_tune
