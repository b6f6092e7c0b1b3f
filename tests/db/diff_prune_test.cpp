// SPDX-License-Identifier: Apache-2.0
// Two databases compared, and a database without some of its rows.

#include "core/error.h"
#include "db/file/check.h"
#include "db/transfer/diff.h"
#include "db/transfer/prune.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using testing::Pair;

class DiffTest : public DbTest {
 protected:
  DatabaseDifference diff(const std::string& a, const std::string& b) const {
    return compare_databases(path(a), path(b), kRevisions);
  }
};

TEST_F(DiffTest, RowsThatOnlyTheSecondDatabaseHasAreCounted) {
  {
    Database a = writable(path("a.db"));
    store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
  }
  fs::copy_file(path("a.db"), path("b.db"));
  {
    Database b = writable(path("b.db"));
    store_measured(b, kA6000, "1024x1024x1024", kWholeTiles, 60);  // another measurement
    b.store(kA6000, k1024, kPredicated, kRevision, failed(Disposition::crashed, "why"),
            Source::measured);
    store_predicted(b, kA10, "64x64x64", kPredicated, 5);
    Database a = writable(path("a.db"));
    store_measured(a, kA10, "8x8x8", kPredicated, 5);
  }
  const DatabaseDifference found = diff("a.db", "b.db");
  EXPECT_EQ(found.rows, 3);
  ASSERT_THAT(found.by_problem, SizeIs(2));
  EXPECT_EQ(found.by_problem[0].device, kA10);
  EXPECT_EQ(found.by_problem[0].problem, "64x64x64");
  EXPECT_THAT(found.by_problem[0].counts,
              ElementsAre(Pair(Pair(Source::predicted, Disposition::ok), 1)));
  EXPECT_EQ(found.by_problem[1].device, kA6000);
  EXPECT_THAT(found.by_problem[1].counts,
              testing::UnorderedElementsAre(Pair(Pair(Source::measured, Disposition::ok), 1),
                                            Pair(Pair(Source::measured, Disposition::crashed), 1)));
  EXPECT_EQ(diff("b.db", "a.db").rows, 1);
  EXPECT_EQ(diff("b.db", "b.db").rows, 0);
  EXPECT_THAT(diff("b.db", "b.db").winners, IsEmpty());
}

TEST_F(DiffTest, WinnersThatDifferAreShownWithBothTimes) {
  {
    Database a = writable(path("a.db")), b = writable(path("b.db"));
    store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(b, kA6000, "1024x1024x1024", kPredicated, 50);
    store_measured(a, kA6000, "512x512x512", kWholeTiles, 9);
    store_measured(b, kA6000, "512x512x512", kWholeTiles, 8);  // the same config
    store_measured(b, kA10, "64x64x64", kPredicated, 5);
    store_measured(b, kA10, "8x8x8", kPredicated, 5, "6");
  }
  const DatabaseDifference found = diff("a.db", "b.db");
  ASSERT_THAT(found.winners, SizeIs(2));
  EXPECT_EQ(found.winners[0].problem, "64x64x64");
  EXPECT_FALSE(found.winners[0].a.has_value());
  EXPECT_EQ(found.winners[0].b.value().config, kPredicated);
  EXPECT_EQ(found.winners[1].problem, "1024x1024x1024");
  EXPECT_EQ(found.winners[1].a.value().outcome.timing.value().median_us, 60);
  EXPECT_EQ(found.winners[1].b.value().outcome.timing.value().median_us, 50);
}

TEST_F(DiffTest, ARowThatMayNotServeItsProblemIsNoWinner) {
  {
    Database a = writable(path("a.db")), b = writable(path("b.db"));
    store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(b, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(b, kA6000, "1024x1024x1024", kTf32, 20);
    store_measured(b, kA6000, "512x512x512", kTf32, 5);
  }
  EXPECT_EQ(diff("a.db", "b.db").rows, 3);
  EXPECT_THAT(diff("a.db", "b.db").winners, IsEmpty());
}

class PruneTest : public DbTest {
 protected:
  PruneTest() {
    Database database(file_, Database::Mode::create_or_open);
    database.begin_run(kRun);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(80)});
    database.store_baseline(kA10, k1024, {"cublasSgemm", "13.1.0", timing(90)});
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 50);
    store_measured(database, kA6000, "512x512x512", kWholeTiles, 9, "6");
    database.begin_run(kRun);
    store_measured(database, kA10, "1024x1024x1024", kWholeTiles, 70);
    // Timed first, found wrong later.
    database.store(kA6000, k1024, kPredicated, kRevision,
                   failed(Disposition::wrong_result, "wrong"), Source::measured);
    // Failed first, timed later.
    database.store(kA10, k1024, kPredicated, kRevision, failed(Disposition::timed_out, "slow"),
                   Source::measured);
    store_measured(database, kA10, "1024x1024x1024", kPredicated, 75);
    // No two rows of one moment, of which the later could not be told.
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE measurements SET recorded_at = printf('2026-01-01T00:00:00.%03dZ', id)");
  }

  PruneReport prune(const PruneRule& rule) const {
    return prune_database(file_, rule, kRevisions, out_);
  }

  std::vector<std::string> rows() const {
    return rows_of(out_,
                   "SELECT d.name, p.text, disposition, median_us, counts FROM measurements m "
                   "JOIN devices d ON d.id = device_id JOIN problems p ON p.id = problem_id "
                   "ORDER BY m.id");
  }

  const fs::path out_ = folder_ / "out.db";
};

TEST_F(PruneTest, RowsOfOtherRevisionsAreLeftOut) {
  const PruneReport report = prune({true, false});
  EXPECT_THAT(report.removed, ElementsAre(Pair("stale: the kernel has changed since", 1)));
  EXPECT_EQ(report.kept, 6);
  EXPECT_THAT(rows(), SizeIs(6));
  EXPECT_THAT(rows_of(out_, "SELECT DISTINCT revision FROM candidates"), ElementsAre(kRevision));
  EXPECT_THAT(rows_of(out_, "SELECT text FROM problems"), ElementsAre("1024x1024x1024"));
  EXPECT_THAT(check_database(out_), IsEmpty());
}

TEST_F(PruneTest, ACandidateThatFailedDoesNotWinAgainByItsEarlierTime) {
  const PruneReport report = prune({false, true});
  EXPECT_THAT(report.removed, ElementsAre(Pair("of failed candidates", 3)));
  EXPECT_THAT(rows(), ElementsAre("NVIDIA RTX A6000|1024x1024x1024|ok|60.0|1",
                                  "NVIDIA RTX A6000|512x512x512|ok|9.0|1",
                                  "NVIDIA A10|1024x1024x1024|ok|70.0|1",
                                  "NVIDIA A10|1024x1024x1024|ok|75.0|1"));
  EXPECT_THAT(check_database(out_), IsEmpty());
}

TEST_F(PruneTest, RowsOfADeviceAreLeftOutByItsNameOrArchitecture) {
  EXPECT_THAT(prune({false, false, {"NVIDIA A10"}}).removed, ElementsAre(Pair("of NVIDIA A10", 3)));
  EXPECT_THAT(rows_of(out_, "SELECT name FROM devices"), ElementsAre("NVIDIA RTX A6000"));
  EXPECT_THAT(rows_of(out_, "SELECT median_us FROM baselines"), ElementsAre("80.0"));
  EXPECT_THAT(check_database(out_), IsEmpty());
  fs::remove(out_);
  EXPECT_EQ(prune({false, false, {"sm_86"}}).kept, 0);
  EXPECT_THAT(rows(), IsEmpty());
  fs::remove(out_);
  try {
    prune({false, false, {"A100"}});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'A100' is no device or architecture of the database"));
  }
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(PruneTest, TheDatabaseStaysAsItIsAndAnExistingOutputToo) {
  const std::string before = read_file(file_);
  EXPECT_EQ(prune_database(file_, {true, true}, kRevisions, std::nullopt).kept, 3);
  prune({true, true});
  EXPECT_EQ(read_file(file_), before);
  const std::string written = read_file(out_);
  EXPECT_THROW(prune({true, false}), DatabaseError);
  EXPECT_THROW(prune_database(file_, {true, true}, kRevisions, file_), DatabaseError);
  EXPECT_EQ(read_file(out_), written);
  EXPECT_EQ(read_file(file_), before);
}

}  // namespace
}  // namespace gemm_tune
