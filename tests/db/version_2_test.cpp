// SPDX-License-Identifier: Apache-2.0
// Databases of version 2 from before each operand had its own alignment. Each problem must be found
// by its text and by the alignment class of its calls, and must not be stored twice.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "choose/choose.h"
#include "core/error.h"
#include "core/gemm_call.h"
#include "db/check.h"
#include "db/salvage.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const DeviceKey kTypicalA6000{"sm_86", "NVIDIA RTX A6000", 84};

// The kernels of the program that wrote the file.
const KernelHashes kVersion2Kernels = {{"naive", "902186727d0ee206"},
                                       {"tiled_2d", "f79fbe24b22df43a"},
                                       {"vectorized_2d", "e4c52a77427472ba"}};

struct Stored {
  const char* problem;
  std::size_t configs;
  const char* best;
};
constexpr Stored kStored[] = {
    {"64x64x64", 5, "vectorized_2d/BM=32,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0"},
    {"65x67x66", 3, "tiled_2d/BM=32,BN=32,BK=8,TM=4,TN=4,PRED=1"},
    {"64x65x64", 3, "tiled_2d/BM=32,BN=32,BK=8,TM=4,TN=4,PRED=1"},
    {"64x64x64:align=1", 3, "tiled_2d/BM=32,BN=32,BK=8,TM=4,TN=4,PRED=1"},
    {"64x64x64:align=2:batch=3", 4, "naive/BM=1,BN=32,COALESCED=1,PRED=1"},
};

class Version2Test : public DbTest {
 protected:
  Version2Test() {
    const std::string dump = read_file(GT_TEST_VERSION_2_SQL);
    if (dump.empty()) throw std::runtime_error("tests/db/data/version_2.sql cannot be read");
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(dump);
  }

  std::string ask(const std::string& sql) const {
    return SQLite::Database(file_.string(), SQLite::OPEN_READONLY).execAndGet(sql).getString();
  }

  Choice chosen(const Problem& problem) const {
    const Database database(file_, Database::Mode::read_only);
    return choose(load_winners(database, "sm_86", kVersion2Kernels), kTypicalA6000, problem);
  }
};

TEST_F(Version2Test, EachProblemIsFoundByItsText) {
  const Database database(file_, Database::Mode::read_only);
  EXPECT_EQ(database.schema_version(), 2);
  for (const Stored& stored : kStored) {
    const Problem problem = parse_problem(stored.problem);
    EXPECT_EQ(database.records(kTypicalA6000, problem).size(), stored.configs) << stored.problem;
    const Choice choice = chosen(problem);
    EXPECT_EQ(choice.match, Match::exact) << stored.problem;
    EXPECT_EQ(to_string(choice.config.value().config()), stored.best) << stored.problem;
  }
  EXPECT_THAT(check_database(file_), IsEmpty());
}

TEST_F(Version2Test, ACallFindsWhatWasTunedForItsClassWhicheverOperandDecides) {
  GemmCall call = packed_call(packed_problem(64, 64, 64));
  EXPECT_EQ(chosen(problem_of(call)).match, Match::exact);
  call.ldb = 65;
  EXPECT_EQ(to_string(key_of(problem_of(call))), "64x64x64:align=4/1/4");
  EXPECT_EQ(chosen(problem_of(call)).match, Match::exact);
  EXPECT_EQ(chosen(problem_of(call)).winner->problem, parse_problem("64x64x64:align=1"));

  GemmCall batch = packed_call(packed_problem(64, 64, 64, Layout::nn, 3));
  batch.stride_c += 2;
  EXPECT_EQ(chosen(problem_of(batch)).match, Match::exact);

  // B and C alone make this class 1; one operand more does not change it.
  GemmCall odd = packed_call(packed_problem(64, 65, 64));
  EXPECT_EQ(chosen(problem_of(odd)).match, Match::exact);
  odd.lda = 67;
  EXPECT_EQ(chosen(problem_of(odd)).match, Match::exact);
}

TEST_F(Version2Test, IsReadAsItIsAndUpgradedByTheFirstWriter) {
  const std::string rows = "SELECT count(*) || ' ' || max(id) || ' ' || sum(predicted_us) FROM ";
  const std::string before = ask(rows + "measurements");
  {
    const Database database(file_, Database::Mode::read_only);
    EXPECT_EQ(database.winners("sm_86", kVersion2Kernels).size(), std::size(kStored));
    const auto none = [](const std::string&) { return false; };
    EXPECT_TRUE(database.winners("sm_86", kVersion2Kernels, none).empty());
    EXPECT_EQ(database.winners("sm_86", kVersion2Kernels).size(), std::size(kStored));
  }
  EXPECT_EQ(ask("PRAGMA user_version"), "2");
  {
    Database database = writable(file_);
    EXPECT_EQ(database.schema_version(), 4);
    Outcome outcome = measured(60);
    outcome.error = 5e-7;
    database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured);
  }
  EXPECT_EQ(ask("PRAGMA user_version"), "4");
  EXPECT_EQ(ask(rows + "measurements WHERE source = 'predicted'"), before);
  EXPECT_EQ(ask("SELECT error FROM measurements WHERE source = 'measured'"), "5.0e-07");
  EXPECT_EQ(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'version%'"), "0");
  EXPECT_THAT(check_database(file_), IsEmpty());
  for (const Stored& stored : kStored) {
    EXPECT_EQ(to_string(chosen(parse_problem(stored.problem)).config.value().config()),
              stored.best);
  }
}

TEST_F(Version2Test, ATableWithANameThatTheUpgradeNeedsIsNamed) {
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec("CREATE TABLE version_2_runs (mine INTEGER)");
  try {
    writable(file_);
    FAIL() << "no refusal";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("is of version 2 and cannot be upgraded: its table 'version_2_runs'"));
  }
  EXPECT_EQ(ask("PRAGMA user_version"), "2");
}

TEST_F(Version2Test, SalvageKeepsItsRows) {
  const std::filesystem::path saved = folder_ / "saved.db";
  const std::vector<SalvagedTable> tables = salvage_database(file_, saved);
  EXPECT_EQ(tables.back().name, "measurements");
  EXPECT_EQ(tables.back().kept, 18);
  EXPECT_EQ(tables.back().lost, 0);
  const Database database(saved, Database::Mode::read_only);
  EXPECT_EQ(database.schema_version(), 4);
  EXPECT_EQ(database.winners("sm_86", kVersion2Kernels).size(), std::size(kStored));
}

TEST_F(Version2Test, NoProblemIsStoredTwice) {
  const std::string before = ask("SELECT group_concat(text) FROM problems");
  Database database = writable(file_);
  for (const Stored& stored : kStored) {
    const Problem stored_one = parse_problem(stored.problem);
    const Problem problem = in_class(stored_one, alignment_class(stored_one));
    store_predicted(database, kTypicalA6000, stored.problem, stored.best, 1);
    database.store(kTypicalA6000, problem, stored.best, kHash, predicted(1), Source::predicted);
  }
  EXPECT_EQ(ask("SELECT group_concat(text) FROM problems"), before);
}

}  // namespace
}  // namespace gemm_tune
