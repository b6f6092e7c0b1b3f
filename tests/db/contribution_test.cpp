// SPDX-License-Identifier: Apache-2.0
// The winners of a device as a text, and the check of such texts.
#include "db/contribution.h"

#include <gmock/gmock.h>

#include "choose/choose.h"
#include "core/error.h"
#include "db/exchange.h"
#include "db/merge.h"
#include "kernel_templates/source.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};
const char* const kH100File = "sm_90-nvidia-h100-80gb-hbm3-132sm.json";

class ContributionTest : public DbTest {
 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }

  static Outcome searched(double us) {
    Outcome outcome = measured(us);
    outcome.standing = Standing::search;
    return outcome;
  }

  // Winners of finals at two sizes, and what is not contributed.
  void fill(Database& database) const {
    RunInfo run = kRun;
    run.host = "workstation-7";
    run.command = "gemm-tune --sizes '1024\n" + std::string(1000, ' ') + "'";
    run.uuid = "11111111-2222-4333-8444-555555555555";
    database.begin_run(run);
    database.store_baseline(kH100, k1024, {"cublasSgemm 13.1.0", timing(80), 2e-7});
    database.store_baseline(kH100, k1024, {"cublasLt 13.1.0 (best of 8 heuristics)", timing(70)});
    store_measured(database, kH100, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kH100, "1024x1024x1024", kPredicated, 61);
    store_measured(database, kH100, "64x64x64", kPredicated, 7);
    store_measured(database, kH100, "64x64x64", kWholeTiles, 1, "a stale hash");
    store_predicted(database, kH100, "32x32x32", kPredicated, 3);
    database.store(kH100, packed_problem(16, 16, 16), kPredicated, kHash, searched(2),
                   Source::measured);
    database.store(kH100, packed_problem(8, 8, 8), kPredicated, kHash,
                   failed(Disposition::wrong_result, "element 7"), Source::measured);
  }

  std::vector<Contribution> contributed(const fs::path& database) const {
    return contributions(database, std::nullopt, kHashes);
  }
  std::string good() const {
    Database database(file_, Database::Mode::create_or_open);
    fill(database);
    return contributed(file_).at(0).text;
  }
  std::string refusal(const std::string& text, const std::string& file = kH100File) const {
    try {
      check_contribution(text, path(file), kHashes);
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }
  static std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == text.npos) throw std::runtime_error("no " + from);
    return text.replace(at, from.size(), to);
  }
};

TEST_F(ContributionTest, HoldsTheWinnersOfFinalsWithBaselinesAndRunsAndNothingElse) {
  const std::string text = good();
  import_text(text, "file", path("out.db"), kHashes);
  EXPECT_THAT(rows_of(path("out.db"),
                      "SELECT p.text, c.text, m.median_us, m.standing, m.counts FROM measurements "
                      "m JOIN problems p ON p.id = problem_id JOIN configs c ON c.id = config_id "
                      "ORDER BY p.M"),
              ElementsAre("64x64x64|" + kPredicated + "|7.0|tied|1",
                          "1024x1024x1024|" + kWholeTiles + "|60.0|tied|1"));
  EXPECT_THAT(
      rows_of(path("out.db"), "SELECT name, median_us FROM baselines ORDER BY name"),
      ElementsAre("cublasLt 13.1.0 (best of 8 heuristics)|70.0", "cublasSgemm 13.1.0|80.0"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT uuid, host, command, driver_version FROM runs"),
              ElementsAre("11111111-2222-4333-8444-555555555555|NULL||580.159.04"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT count(*) FROM devices"), ElementsAre("1"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("workstation")), Not(HasSubstr("--sizes"))));
}

TEST_F(ContributionTest, TheSameRowsInAnotherOrderAndDatabaseGiveTheSameBytes) {
  const std::string text = good();
  {
    Database other = writable(path("other.db"));
    store_measured(other, kA10, "512x512x512", kPredicated, 9);
    store_measured(other, kH100, "8x8x8:align=1", kPredicated, 3);
  }
  merge_databases({path("other.db"), file_}, path("ab.db"), kHashes);
  merge_databases({file_, path("other.db")}, path("ba.db"), kHashes);
  const auto ab = contributed(path("ab.db")), ba = contributed(path("ba.db"));
  ASSERT_EQ(ab.size(), 2u);
  EXPECT_EQ(ab[0].file_name, "sm_86-nvidia-a10-72sm.json");
  EXPECT_EQ(ab[1].winners, 3);
  EXPECT_EQ(ab[1].text, ba[1].text);
  import_text(text, "file", path("back.db"), kHashes);
  EXPECT_EQ(contributed(path("back.db")).at(0).text, text);
  EXPECT_EQ(contributions(path("ab.db"), "sm_86", kHashes).size(), 1u);
  EXPECT_THROW(contributions(path("ab.db"), "sm_75", kHashes), NothingFound);
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

TEST_F(ContributionTest, TheSchemaOfATextIsThatOfItsRowsWhateverOtherDevicesHave) {
  const DeviceKey h200{"sm_90", "NVIDIA H200", 132};
  {
    Database database(file_, Database::Mode::create_or_open);
    fill(database);
    Outcome outcome = measured(50);
    outcome.twins_verified = true;
    database.store(h200, packed_problem(64, 64, 64), kPredicated, kHash, outcome, Source::measured);
  }
  const std::vector<Contribution> both = contributed(file_);
  ASSERT_EQ(both.size(), 2u);
  for (const Contribution& one : both) {
    EXPECT_NO_THROW(check_contribution(one.text, path(one.file_name), kHashes)) << one.file_name;
    const char* const schema = one.device.name == h200.name ? "\"schema\": 4" : "\"schema\": 3";
    EXPECT_THAT(one.text, HasSubstr(schema));
  }
}

TEST_F(ContributionTest, ARowWhoseTwinsWereNotVerifiedIsNeitherHandedOnNorAccepted) {
  {
    Database database(file_, Database::Mode::create_or_open);
    fill(database);
    Outcome outcome = measured(5);
    outcome.twins_verified = false;
    database.store(kH100, packed_problem(64, 64, 64), kWholeTiles, kHash, outcome,
                   Source::measured);
    outcome.twins_verified = true;
    database.store(kH100, k1024, kWholeTiles, kHash, outcome, Source::measured);
  }
  const std::vector<Contribution> found = contributed(file_);
  EXPECT_EQ(found.at(0).winners, 2);
  EXPECT_THAT(found.at(0).text, Not(HasSubstr("\"twins_verified\":0")));
  EXPECT_THAT(refusal(with(found.at(0).text, "\"twins_verified\":1", "\"twins_verified\":0")),
              HasSubstr("that is no winner of finals: verified, measured and 'tied'"));
}

TEST_F(ContributionTest, TheCheckCountsTheWinnersOfTodaysKernelsOnly) {
  const std::string text = good();
  const CheckedContribution today = check_contribution(text, path(kH100File), kHashes);
  EXPECT_EQ(today.device, kH100);
  EXPECT_EQ(today.winners, 2);
  EXPECT_EQ(today.valid, 2);
  EXPECT_EQ(check_contribution(text, path(kH100File), {{"vectorized_2d", "another"}}).valid, 0);
  // A stale winner stays in a file, and is never chosen.
  import_text(text, "file", path("out.db"), kHashes);
  const Database database(path("out.db"), Database::Mode::read_only);
  EXPECT_EQ(load_winners(database, "sm_90", kHashes).size(), 2u);
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
      {"\"standing\":\"tied\"", "\"standing\":\"finals\"", "that is no winner of finals"},
      {"\"uuid\"", "\"host\":\"a\",\"uuid\"", "names a host or a command line"},
      {"\"command\":\"\"", "\"command\":\"rm\"", "names a host or a command line"},
      {"{\"id\":1,", "{\"id\":2,\"arch\":\"sm_86\",\"name\":\"x\",\"sm_count\":1},\n{\"id\":1,",
       "is not as `gemm-tune db contribute` writes it"},
      {"NVIDIA H100", "NVIDIA \\u001b[31mH100", "name that is not printable: NVIDIA \\x1b[31mH100"},
      {"\"cublasSgemm 13.1.0\"", '"' + std::string(401, 'x') + '"', "is longer than 400 bytes"},
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

TEST_F(ContributionTest, TheCheckRefusesAnotherTextUnderAKernelsIdentity) {
  {
    Database database(file_, Database::Mode::create_or_open);
    const std::string tokens = "kernel ( ) { }", hash = identity_of(tokens);
    database.begin_run(kRun, std::vector<KernelText>{{"vectorized_2d", hash, tokens}});
    store_measured(database, kH100, "64x64x64", kPredicated, 7, hash);
    const std::string text =
        contributions(file_, std::nullopt, {{"vectorized_2d", hash}}).at(0).text;
    EXPECT_EQ(refusal(text), "");
    EXPECT_THAT(refusal(with(text, "kernel ( )", "kernel (x)")),
                HasSubstr("a tokens that is not that of kernel " + hash));
  }
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
