// SPDX-License-Identifier: Apache-2.0
// Databases with a foreign schema: the program executes none of it, and refuses the file in one
// sentence.
#include "db/schema/schema_check.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>

#include "core/error.h"
#include "db/file/check.h"
#include "db/schema/schema.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using Mode = Database::Mode;

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
constexpr const char* kColumns =
    "i AS id, i AS device_id, i AS problem_id, i AS run_id, 'a/B=1' AS config, 'x' AS revision, "
    "'ok' AS disposition, NULL AS reason, 'measured' AS source, 1 AS registers, 0 AS spill_bytes, "
    "0 AS stack_bytes, 0 AS smem_bytes, 1 AS ctas_per_sm, 1.0 AS median_us, '[1]' AS samples, "
    "1 AS launches_per_sample, 1 AS rank, 1.0 AS cold_us, NULL AS sm_mhz, NULL AS "
    "power_w, "
    "NULL AS temperature_c, NULL AS disturbance, 1.0 AS predicted_us, NULL AS baseline_id, "
    "'' AS recorded_at FROM n";

class SchemaCheckTest : public DbTest {
 protected:
  SchemaCheckTest() {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 100);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 120);
  }

  // What anybody can do to the file.
  void alter(const std::string& sql) const {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
    db.exec(sql);
  }

  std::string refusal(Mode mode) const {
    try {
      const Database database(file_, mode);
      return "";
    } catch (const DatabaseError& error) {
      return error.what();
    }
  }

  void expect_refused(const std::string& what) const {
    for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
      EXPECT_THAT(refusal(mode),
                  AllOf(HasSubstr("(" + what + ")"),
                        HasSubstr("`gemm-tune db check --db " + file_.string() + "`"),
                        HasSubstr("`sqlite3 " + file_.string() + " '.clone NEW'")));
    }
    EXPECT_THAT(check_database(file_), Contains(what));
  }
};

TEST_F(SchemaCheckTest, AViewWithoutEndInPlaceOfATableIsNeverRead) {
  alter(
      "PRAGMA foreign_keys = OFF; DROP VIEW winners; DROP VIEW outcomes;"
      "ALTER TABLE baselines RENAME TO old;"
      "CREATE VIEW baselines AS " +
      std::string(kEndless) + kColumns);
  expect_refused("its table 'baselines' is a view");
}

TEST_F(SchemaCheckTest, AParentsTableThatIsAViewWithoutEndIsNeverRead) {
  alter(
      "PRAGMA foreign_keys = OFF; DROP VIEW winners; DROP VIEW outcomes; DROP TABLE runs;"
      "CREATE VIEW runs AS " +
      std::string(kEndless) +
      "i AS id, '' AS tool_version, '' AS cuda_version, '' AS driver_version, '' AS command, "
      "'1' AS seed, '' AS started_at FROM n");
  expect_refused("its table 'runs' is a view");
}

TEST_F(SchemaCheckTest, ATriggerIsRefusedAndNeverFires) {
  alter(
      "CREATE TABLE log (x);"
      "CREATE TRIGGER spy AFTER INSERT ON runs BEGIN INSERT INTO log " +
      std::string(kEndless) + "i FROM n; END");
  expect_refused("it has the trigger 'spy', which gemm-tune never makes: drop it");
}

TEST_F(SchemaCheckTest, AVirtualTableIsRefused) {
  alter(
      "PRAGMA foreign_keys = OFF; DROP VIEW winners; DROP VIEW outcomes; DROP TABLE runs;"
      "CREATE VIRTUAL TABLE runs USING fts5(tool_version, cuda_version, driver_version, command, "
      "seed, started_at)");
  expect_refused("its table 'runs' is a virtual table");
}

TEST_F(SchemaCheckTest, AColumnAConstraintOrAViewOfOthersIsRefused) {
  alter("ALTER TABLE devices ADD COLUMN note TEXT");
  expect_refused("its table 'devices' is not defined as gemm-tune defines it");
}

TEST_F(SchemaCheckTest, AViewOfOursThatSaysSomethingElseIsRefused) {
  alter("DROP VIEW winners; CREATE VIEW winners AS SELECT 1 AS arch");
  expect_refused("its view 'winners' is not defined as gemm-tune defines it");
}

TEST_F(SchemaCheckTest, AMissingTableIsNamed) {
  alter("PRAGMA foreign_keys = OFF; DROP TABLE baselines");
  expect_refused("its table 'baselines' is missing");
}

TEST_F(SchemaCheckTest, AnIndexThatComputesIsRefusedAndAPlainOneIsNot) {
  alter("CREATE INDEX by_time ON measurements (median_us DESC, candidate_id); ANALYZE");
  EXPECT_EQ(refusal(Mode::read_only), "");
  EXPECT_THAT(check_database(file_), IsEmpty());
  EXPECT_THAT(foreign_objects(file_), IsEmpty());
  alter("CREATE INDEX slow ON measurements (length(printf('%.*c', 1000000, 'x')))");
  expect_refused("it has the index 'slow', which gemm-tune never makes: drop it");
}

// It would turn down rows of a run, which nobody could foresee.
TEST_F(SchemaCheckTest, AUniqueIndexOfOthersIsRefusedByTheCheckAsByARun) {
  alter("CREATE UNIQUE INDEX mine ON measurements (candidate_id)");
  expect_refused("it has the index 'mine', which gemm-tune never makes: drop it");
}

TEST_F(SchemaCheckTest, TablesAndViewsBesideOursAreLeftAloneAndNamed) {
  alter(
      "CREATE TABLE mine (x CHECK (length(printf('%.*c', x, 'x')) > 0)); CREATE INDEX i ON mine "
      "(x);"
      "CREATE VIEW endless AS " +
      std::string(kEndless) + "i FROM n");
  for (const Mode mode : {Mode::read_only, Mode::create_or_open}) EXPECT_EQ(refusal(mode), "");
  EXPECT_THAT(check_database(file_), IsEmpty());
  EXPECT_THAT(foreign_objects(file_), ElementsAre("table 'mine'", "index 'i'", "view 'endless'"));
}

TEST_F(SchemaCheckTest, AFileWithoutOurViewsIsRead) {
  alter("DROP VIEW winners; DROP VIEW outcomes");
  EXPECT_EQ(refusal(Mode::read_only), "");
  EXPECT_THAT(check_database(file_), IsEmpty());
}

TEST_F(SchemaCheckTest, OtherCommentsAndOtherWhiteSpaceAreNoOtherSchema) {
  std::string schema = kSchema;
  for (std::size_t at; (at = schema.find("--")) != std::string::npos;) {
    schema.replace(at, schema.find('\n', at) - at, "/* of an older version */");
  }
  const fs::path older = folder_ / "older.db";
  SQLite::Database(older.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(schema);
  EXPECT_THAT(check_database(older), IsEmpty());
  writable(older);
}

TEST_F(SchemaCheckTest, NamesOfOthersAreShownWithoutTheirControlBytes) {
  alter("CREATE TABLE \"a\x1b[2J\" (x)");
  EXPECT_THAT(foreign_objects(file_), ElementsAre("table 'a\\x1b[2J'"));
}

TEST_F(SchemaCheckTest, ASchemaOfManyOthersIsToldInShort) {
  std::string sql;
  for (int i = 0; i < 300; ++i) sql += "CREATE TABLE t" + std::to_string(i) + " (x);";
  alter(sql);
  EXPECT_EQ(foreign_objects(file_).size(), 100u);
}

}  // namespace
}  // namespace gemm_tune
