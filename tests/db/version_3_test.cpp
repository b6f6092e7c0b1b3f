// SPDX-License-Identifier: Apache-2.0
// A database of version 3 is read as it is and upgraded by the first writer.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "db/check.h"
#include "db/schema.h"
#include "db/schema_check.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

using testing::IsEmpty;

class Version3Test : public DbTest {
 protected:
  Version3Test() {
    const std::filesystem::path newer = folder_ / "newer.db";
    {
      Database database = writable(newer);
      database.store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(110), 1e-7});
      const auto store = [&](const std::string& config, double us, double cold_us) {
        Outcome outcome = measured(us);
        outcome.standing = Standing::tied;
        outcome.timing->cold_us = cold_us;
        outcome.error = 1e-7;
        database.store(kA6000, parse_problem("1024x1024x1024"), config, kHash, outcome,
                       Source::measured);
      };
      store(kWholeTiles, 100, 150);
      store(kPredicated, 100.4, 140);
      store("naive/BM=16,BN=16,COALESCED=1,PRED=0", 102, 90);
    }
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(kSchema3);
    db.exec("ATTACH '" + newer.string() + "' AS newer");
    for (const std::string& table : tables_of(3)) {
      SQLite::Statement columns(
          db, "SELECT group_concat(name, ', ') FROM pragma_table_info('" + table + "', 'main')");
      columns.executeStep();
      const std::string names = columns.getColumn(0).getString();
      db.exec("INSERT INTO main." + table + " (" + names + ") SELECT " + names + " FROM newer." +
              table);
    }
  }

  static std::string winner(const Database& database) {
    return database.winners("sm_86", kHashes).at(0).config;
  }
};

TEST_F(Version3Test, IsReadAsItIs) {
  const Database database(file_, Database::Mode::read_only);
  EXPECT_EQ(database.schema_version(), 3);
  EXPECT_EQ(winner(database), kPredicated);  // tied, and the least cold time within half a per cent
  EXPECT_EQ(database.winners_by({Objective::hot, 1.0}, "sm_86", kHashes).at(0).config, kPredicated);
  EXPECT_EQ(database.winners_by({Objective::cold}, "sm_86", kHashes).at(0).config,
            "naive/BM=16,BN=16,COALESCED=1,PRED=0");
  EXPECT_EQ(database.records(kA6000, parse_problem("1024x1024x1024")).size(), 3u);
  EXPECT_THAT(check_database(file_), IsEmpty());
}

TEST_F(Version3Test, IsUpgradedByTheFirstWriterAndKeepsItsWinner) {
  {
    const Database database = writable(file_);
    EXPECT_EQ(database.schema_version(), 4);
    EXPECT_EQ(winner(database), kPredicated);
    for (const Record& row : database.records(kA6000, parse_problem("1024x1024x1024"))) {
      EXPECT_EQ(row.outcome.twins_verified, std::nullopt);
    }
  }
  EXPECT_THAT(check_database(file_), IsEmpty());
}

}  // namespace
}  // namespace gemm_tune
