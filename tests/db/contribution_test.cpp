// SPDX-License-Identifier: Apache-2.0
// The winners of a device as a text, and the check of such texts.
#include "db/transfer/contribution.h"

#include "choose/choose.h"
#include "core/error.h"
#include "db/transfer/exchange.h"
#include "db/transfer/merge.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};
const char* const kH100File = "sm_90-nvidia-h100-80gb-hbm3-132sm.json";

class ContributionTest : public DbTest {
 protected:
  // Winners of finals at two sizes, and what is not contributed.
  void fill(Database& database) const {
    RunInfo run = kRun;
    run.host = "workstation-7";
    run.command = "gemm-tune --sizes '1024\n" + std::string(1000, ' ') + "'";
    run.uuid = "11111111-2222-4333-8444-555555555555";
    database.begin_run(run);
    database.store_baseline(kH100, k1024, {"cublasSgemm", "13.1.0", timing(80), 2e-7});
    database.store_baseline(kH100, k1024, {"cublasLt", "13.1.0", timing(70), {}, 8});
    store_measured(database, kH100, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kH100, "1024x1024x1024", kPredicated, 61);
    store_measured(database, kH100, "64x64x64", kPredicated, 7);
    store_measured(database, kH100, "64x64x64", kWholeTiles, 1, "6");
    store_predicted(database, kH100, "32x32x32", kPredicated, 3);
    database.store(kH100, packed_problem(16, 16, 16), kPredicated, kRevision, timed_alone(2),
                   Source::measured);
    database.store(kH100, packed_problem(8, 8, 8), kPredicated, kRevision,
                   failed(Disposition::wrong_result, "element 7"), Source::measured);
  }

  std::vector<Contribution> contributed(const fs::path& database) const {
    return contributions(database, std::nullopt, kRevisions);
  }
  std::string good() const {
    Database database(file_, Database::Mode::create_or_open);
    fill(database);
    return contributed(file_).at(0).text;
  }
  std::string refusal(const std::string& text, const std::string& file = kH100File) const {
    try {
      check_contribution(text, path(file), kRevisions);
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }
};

TEST_F(ContributionTest, HoldsTheWinnersOfFinalsWithBaselinesAndRunsAndNothingElse) {
  const std::string text = good();
  import_text(text, "file", path("out.db"), kRevisions);
  EXPECT_THAT(
      rows_of(path("out.db"),
              "SELECT p.text, c.config, m.median_us, m.rank, m.counts FROM measurements m "
              "JOIN problems p ON p.id = problem_id JOIN candidates c ON c.id = candidate_id "
              "ORDER BY p.M"),
      ElementsAre("64x64x64|" + kPredicated + "|7.0|1|1",
                  "1024x1024x1024|" + kWholeTiles + "|60.0|1|1"));
  EXPECT_THAT(
      rows_of(path("out.db"),
              "SELECT name, library_version, algorithms, median_us FROM baselines ORDER BY name"),
      ElementsAre("cublasLt|13.1.0|8|70.0", "cublasSgemm|13.1.0|NULL|80.0"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT uuid, host, command, driver_version FROM runs"),
              ElementsAre("11111111-2222-4333-8444-555555555555|NULL||580.159.04"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT count(*) FROM devices"), ElementsAre("1"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("workstation")), Not(HasSubstr("--sizes"))));
}

TEST_F(ContributionTest, ARowThatMayNotServeItsProblemIsNoWinner) {
  const std::string text = good();
  {
    Database database(file_, Database::Mode::create_or_open);
    RunInfo run = kRun;
    run.uuid = "22222222-2222-4333-8444-555555555555";
    database.begin_run(run);
    store_measured(database, kH100, "1024x1024x1024", kTf32, 20);
    store_measured(database, kH100, "256x256x256", kTf32, 2);
  }
  EXPECT_EQ(contributed(file_).at(0).text, text);
}

TEST_F(ContributionTest, TheSameRowsInAnotherOrderAndDatabaseGiveTheSameBytes) {
  const std::string text = good();
  {
    Database other = writable(path("other.db"));
    store_measured(other, kA10, "512x512x512", kPredicated, 9);
    store_measured(other, kH100, "8x8x8:align=4", kPredicated, 3);
  }
  merge_databases({path("other.db"), file_}, path("ab.db"), kRevisions);
  merge_databases({file_, path("other.db")}, path("ba.db"), kRevisions);
  const auto ab = contributed(path("ab.db")), ba = contributed(path("ba.db"));
  ASSERT_EQ(ab.size(), 2u);
  EXPECT_EQ(ab[0].file_name, "sm_86-nvidia-a10-72sm.json");
  EXPECT_EQ(ab[1].winners, 3);
  EXPECT_EQ(ab[1].text, ba[1].text);
  import_text(text, "file", path("back.db"), kRevisions);
  EXPECT_EQ(contributed(path("back.db")).at(0).text, text);
  EXPECT_EQ(contributions(path("ab.db"), "sm_86", kRevisions).size(), 1u);
  EXPECT_THROW(contributions(path("ab.db"), "sm_75", kRevisions), NothingFound);
}

TEST_F(ContributionTest, AnotherWinnerAddsLinesAndChangesNone) {
  const std::string before = good();
  {
    Database database(file_, Database::Mode::create_or_open);
    RunInfo run = kRun;
    run.uuid = "00000000-2222-4333-8444-555555555555";
    database.begin_run(run);
    store_measured(database, kH100, "48x48x48", kPredicated, 5);
  }
  const std::string after = contributed(file_).at(0).text;
  std::set<std::string> lines;
  const auto each_line = [](const std::string& text, const auto& visit) {
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      std::string line = text.substr(at, text.find('\n', at) - at);
      while (line.ends_with(',') || line.ends_with(']')) line.pop_back();
      visit(line);
    }
  };
  each_line(after, [&](const std::string& line) { lines.insert(line); });
  each_line(before, [&](const std::string& line) { EXPECT_TRUE(lines.contains(line)) << line; });
}

TEST_F(ContributionTest, ARowThatWasNotVerifiedIsNeitherHandedOnNorAccepted) {
  {
    Database database(file_, Database::Mode::create_or_open);
    fill(database);
    database.store(kH100, packed_problem(64, 64, 64), kWholeTiles, kRevision, ranked(5, 1, false),
                   Source::measured);
    database.store(kH100, k1024, kWholeTiles, kRevision, ranked(5, 1), Source::measured);
  }
  const std::vector<Contribution> found = contributed(file_);
  EXPECT_EQ(found.at(0).winners, 2);
  EXPECT_THAT(found.at(0).text, Not(HasSubstr("\"verified\":0")));
  EXPECT_THAT(refusal(with(found.at(0).text, "\"verified\":1", "\"verified\":0")),
              HasSubstr("that is no winner of finals: ranked and verified"));
}

TEST_F(ContributionTest, TheCheckCountsTheWinnersOfTodaysKernelsOnly) {
  const std::string text = good();
  const CheckedContribution today = check_contribution(text, path(kH100File), kRevisions);
  EXPECT_EQ(today.device, kH100);
  EXPECT_EQ(today.winners, 2);
  EXPECT_EQ(today.valid, 2);
  EXPECT_EQ(check_contribution(text, path(kH100File), {{"vectorized_2d", "another"}}).valid, 0);
  // A stale winner stays in a file, and is never chosen.
  import_text(text, "file", path("out.db"), kRevisions);
  const Database database(path("out.db"), Database::Mode::read_only);
  EXPECT_EQ(load_winners(database, "sm_90", kRevisions).size(), 2u);
  EXPECT_THAT(load_winners(database, "sm_90", {{"vectorized_2d", "another"}}), IsEmpty());
}

TEST_F(ContributionTest, TheCheckRefusesWhatNoContributionHolds) {
  const std::string text = good();
  ASSERT_EQ(refusal(text), "");
  const std::string problem = "{\"text\":\"64x64x64\"";
  const std::size_t row = text.find(problem), end = text.find('\n', row);
  const std::string line = text.substr(row, end - row);
  const struct {
    std::string from, to, sentence;
  } kFaults[] = {
      {"\"rank\":1,\"tied\":1,\"verified\":1", "\"disturbance\":\"\"",
       "that is no winner of finals"},
      {"\"uuid\"", "\"host\":\"a\",\"uuid\"", "names a host or a command line"},
      {"\"command\":\"\"", "\"command\":\"rm\"", "names a host or a command line"},
      {"{\"id\":1,", "{\"id\":2,\"arch\":\"sm_86\",\"name\":\"x\",\"sm_count\":1},\n{\"id\":1,",
       "is not as `gemm-tune db contribute` writes it"},
      {"NVIDIA H100", "NVIDIA \\u001b[31mH100", "name that is not printable: NVIDIA \\x1b[31mH100"},
      {"\"cublasSgemm\"", '"' + std::string(401, 'x') + '"', "is longer than 400 bytes"},
      {"NVIDIA H100", "NVIDIA H200", "name it 'sm_90-nvidia-h200-80gb-hbm3-132sm.json'"},
      {line + "\n", "", "names no row that stands before it"},
      {line, line + "\n" + line, "UNIQUE constraint failed"},
      {", ", ",  ", "from line 1 on"},
      {"}\n", "} \n", "from line "},
      {"gemm-tune rows", "rows", "is no JSON of"},
  };
  for (const auto& [from, to, sentence] : kFaults) {
    const std::string refused = refusal(with(text, from, to));
    EXPECT_THAT(refused, AllOf(HasSubstr(kH100File), HasSubstr(sentence))) << to;
    EXPECT_EQ(refused.find_first_of("\n\x1b"), refused.npos) << to;
  }
  EXPECT_THAT(refusal(text, "h100.json"), HasSubstr("name it '" + std::string(kH100File) + "'"));
}

TEST_F(ContributionTest, RefusesNamesThatAreNotPrintableOrWouldShareAFile) {
  {
    Database database = writable(file_);
    store_measured(database, {"sm_90", "a\nb", 1}, "64x64x64", kPredicated, 7);
  }
  EXPECT_THROW(contributed(file_), UsageError);
  Database database = writable(path("two.db"));
  store_measured(database, {"sm_90", "a b", 1}, "64x64x64", kPredicated, 7);
  store_measured(database, {"sm_90", "a-b", 1}, "64x64x64", kPredicated, 7);
  try {
    contributed(path("two.db"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("would have one file, 'sm_90-a-b-1sm.json'"));
  }
}

}  // namespace
}  // namespace gemm_tune
