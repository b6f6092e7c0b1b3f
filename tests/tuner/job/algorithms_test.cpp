// SPDX-License-Identifier: Apache-2.0
// Runs that try algorithms of libraries beside kernels. Fake workers, so neither a GPU nor a
// library is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;
using testing::Not;

class AlgorithmsTest : public testing::Test {
 protected:
  AlgorithmsTest() : configs_(fake::some_configs(30, false)) {
    for (const KnownConfig& config : configs_) texts_.push_back(to_string(config.config()));
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  ProblemReport tuned(const KernelRevisions& libraries, const std::string& mode = "") const {
    TuneRequest request = fake::request_of(configs_, file("log"), mode);
    request.libraries = libraries;
    Database database(file("a.db"), Database::Mode::create_or_open);
    KernelRevisions revisions = current_revisions();
    revisions.insert(libraries.begin(), libraries.end());
    database.begin_run({"test", "13.0", "", "with fakes", 1}, revisions);
    return tune(request, database, [](const Progress&) {}).problems.at(0);
  }

  std::map<std::string, Record> rows() const {
    const Database database(file("a.db"), Database::Mode::read_only);
    std::map<std::string, Record> rows;
    for (Record& row : database.records(device_, fake::kProblem)) {
      rows.insert_or_assign(row.config, std::move(row));
    }
    return rows;
  }

  std::string fastest_kernel() const {
    return *std::min_element(texts_.begin(), texts_.end(), [](const auto& a, const auto& b) {
      return fake::time_us_of(a) < fake::time_us_of(b);
    });
  }

  std::string chosen(Allowed allowed) const {
    const Database database(file("a.db"), Database::Mode::read_only);
    const Choice choice = choose(load_tuned(database, "sm_90"), device_, fake::kProblem, allowed);
    return to_string(choice.config->config());
  }

  const DeviceKey device_ = device_key(find_device_spec("sm_90").value());
  const KernelRevisions libraries_ = {{"cublas", "13.1.0"}, {"cublaslt", "13.1.0"}};
  std::vector<KnownConfig> configs_;
  std::vector<std::string> texts_;

 private:
  const TempFolder folder_;
};

TEST_F(AlgorithmsTest, EachOfThemHasARowOfTheLibrarysVersion) {
  const ProblemReport report = tuned(libraries_);
  EXPECT_EQ(report.funnel.algorithms, 4u);
  EXPECT_EQ(report.funnel.tried, configs_.size() + 4);
  EXPECT_EQ(report.funnel.failed_on_gpu, (Reasons{{"wrong_result", 1}}));
  const std::map<std::string, Record> stored = rows();
  for (const auto& [config, disposition] : {std::pair(fake::kLibraryChoice, Disposition::ok),
                                            {fake::kFastAlgorithm, Disposition::ok},
                                            {fake::kWrongAlgorithm, Disposition::wrong_result},
                                            {fake::kRefusedAlgorithm, Disposition::rejected}}) {
    ASSERT_TRUE(stored.contains(config)) << config;
    EXPECT_EQ(stored.at(config).outcome.disposition, disposition) << config;
    EXPECT_EQ(stored.at(config).revision, "13.1.0") << config;
  }
}

TEST_F(AlgorithmsTest, TheFastestOfAllWinsAndTheBestKernelIsKeptForWhoCannotCallALibrary) {
  const ProblemReport report = tuned(libraries_);
  EXPECT_EQ(to_string(report.winner.value().config.config()), fake::kFastAlgorithm);
  EXPECT_EQ(report.winner->library_version, "13.1.0");
  EXPECT_EQ(to_string(report.kernel.value().config.config()), fastest_kernel());
  const std::map<std::string, Record> stored = rows();
  EXPECT_EQ(stored.at(fake::kFastAlgorithm).outcome.ranking.value().rank, 1);
  EXPECT_EQ(stored.at(fastest_kernel()).outcome.ranking.value().rank, 2);
  EXPECT_TRUE(stored.at(fastest_kernel()).outcome.ranking->verified);
  EXPECT_EQ(chosen({.library = true}), fake::kFastAlgorithm);
  EXPECT_EQ(chosen({}), fastest_kernel());
}

TEST_F(AlgorithmsTest, ASlowLibraryLosesToTheKernel) {
  const ProblemReport report = tuned(libraries_, "slow_library");
  EXPECT_EQ(to_string(report.winner.value().config.config()), fastest_kernel());
  EXPECT_EQ(report.kernel.has_value(), false);
  EXPECT_EQ(chosen({.library = true}), fastest_kernel());
}

TEST_F(AlgorithmsTest, ALaterRunTriesNoneAgain) {
  tuned(libraries_);
  std::filesystem::remove(file("log"));
  const ProblemReport again = tuned(libraries_);
  EXPECT_EQ(to_string(again.winner.value().config.config()), fake::kFastAlgorithm);
  EXPECT_EQ(again.funnel.recalled, again.funnel.tried);
  EXPECT_THAT(read_file(file("log")), Not(HasSubstr("measure")));
}

TEST_F(AlgorithmsTest, ThoseOfAnotherVersionAreTriedAgain) {
  tuned(libraries_);
  std::filesystem::remove(file("log"));
  const ProblemReport again = tuned({{"cublas", "13.2.0"}, {"cublaslt", "13.2.0"}});
  EXPECT_EQ(again.stale, 4u);
  EXPECT_THAT(read_file(file("log")), HasSubstr(std::string("measure ") + fake::kFastAlgorithm));
  EXPECT_EQ(again.winner.value().library_version, "13.2.0");
}

TEST_F(AlgorithmsTest, ARunWithoutLibrariesAsksForNone) {
  const ProblemReport report = tuned({});
  EXPECT_EQ(to_string(report.winner.value().config.config()), fastest_kernel());
  EXPECT_THAT(read_file(file("log")), Not(HasSubstr("propose")));
}

// Of the run's time the first problem has no share: its search ends with its first result.
TEST_F(AlgorithmsTest, AreTriedWhereTheTimeOfAProblemIsUsedUp) {
  TuneRequest request = fake::request_of(configs_, file("log"));
  Problem other = fake::kProblem;
  other.K *= 2;
  request.problems = {fake::kProblem, other};
  request.weights = {0, 1};
  request.time_limit = std::chrono::hours(1);
  request.libraries = libraries_;
  Database database(file("a.db"), Database::Mode::create_or_open);
  KernelRevisions revisions = current_revisions();
  revisions.insert(libraries_.begin(), libraries_.end());
  database.begin_run({"test", "13.0", "", "with fakes", 1}, revisions);
  const ProblemReport report = tune(request, database, [](const Progress&) {}).problems.at(0);
  EXPECT_EQ(report.funnel.algorithms, 4u);
  EXPECT_EQ(to_string(report.winner.value().config.config()), fake::kFastAlgorithm);
  EXPECT_EQ(report.cut_short, CutShort::by_time_limit);
}

// What a run with libraries stored is neither recalled nor lost.
TEST_F(AlgorithmsTest, ALaterRunWithoutLibrariesLeavesTheirRowsAlone) {
  tuned(libraries_);
  const ProblemReport report = tuned({});
  EXPECT_EQ(report.stale, 0u);
  EXPECT_EQ(report.funnel.tried, configs_.size());
  EXPECT_TRUE(rows().contains(fake::kFastAlgorithm));
}

}  // namespace
}  // namespace gemm_tune
