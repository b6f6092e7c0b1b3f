// SPDX-License-Identifier: Apache-2.0
// Data that travels from one database to another: the commands' output, messages and exit codes.
#include "db/database.h"
#include "tests/tuner/cli_fixture.h"

namespace gemm_tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliDataTest : public CliTest {
 protected:
  static Outcome timed(double us) {
    Outcome outcome;
    outcome.timing = Timing{us, {us}, 1};
    return outcome;
  }

  static Outcome wrong() {
    Outcome outcome;
    outcome.disposition = Disposition::wrong_result;
    outcome.detail = "element 7 is wrong\n\x1b[31m";
    return outcome;
  }

  // A database with one row of naive.
  std::string database(const std::string& name, const Outcome& outcome) const {
    Database database(path(name), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    database.store({"sm_86", "NVIDIA A10", 72}, parse_problem("64x64x64"), kNaive, "00", outcome,
                   Source::measured);
    return path(name);
  }

  const std::string out_ = path("out.db");
};

TEST_F(CliDataTest, MergeSaysHowManyRowsAreNewAndListsContradictionsALineEach) {
  const std::string a = database("a.db", timed(10)), b = database("b.db", wrong());
  const ProgramRun merge = run("db merge -q " + out_ + " " + a + " " + b);
  EXPECT_EQ(merge.exit_code, 0) << merge.errors;
  EXPECT_THAT(merge.output,
              AllOf(HasSubstr("contradiction: NVIDIA A10 (sm_86, 72 SMs)  64x64x64  "),
                    HasSubstr(std::string(kNaive) + " of kernel 00, measured: ok in '" + a + "' ("),
                    HasSubstr(", 10 us); wrong_result in '" + b + "' ("),
                    HasSubstr("element 7 is wrong\\n\\x1b[31m"), HasSubstr("counts: wrong_result"),
                    HasSubstr(out_ + ": 2 rows, 2 of them new\n")));
  EXPECT_EQ(std::count(merge.output.begin(), merge.output.end(), '\n'), 2);
  const ProgramRun again = run("db merge -q " + out_ + " " + b);
  EXPECT_THAT(again.output, HasSubstr(out_ + ": 2 rows, 0 of them new\n"));
  EXPECT_EQ(run("db check -q --db " + out_).exit_code, 0);
}

TEST_F(CliDataTest, MergeRefusesABadInputWithTheCodeOfADatabaseAndMakesNoFile) {
  const std::string a = database("a.db", timed(10));
  write_file(path("text"), "no database");
  expect_refusal("db merge -q " + out_ + " " + a + " " + path("text"), 6, "is not a database");
  expect_refusal("db merge -q " + out_ + " " + path("none"), 6, "does not exist");
  expect_refusal("db merge -q " + out_, 2, "inputs");
  expect_refusal("db merge -q", 2, "output");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(CliDataTest, DiffShowsTheRowsOfTheSecondDatabaseAndWritesJson) {
  const std::string a = database("a.db", wrong()), b = database("b.db", timed(10));
  const ProgramRun diff = run("db diff -q " + a + " " + b);
  EXPECT_EQ(diff.exit_code, 0) << diff.errors;
  EXPECT_EQ(diff.output, "a: " + a + "\nb: " + b +
                             "\nrows of b that a has not: 1\n"
                             "  NVIDIA A10 (sm_86, 72 SMs)  64x64x64  1 ok\n"
                             "winners that differ: 0\n");
  EXPECT_THAT(run("db diff -q --json " + a + " " + b).output,
              AllOf(HasSubstr("\"rows_only_in_b\": 1"), HasSubstr("\"ok\": 1")));
  expect_refusal("db diff -q " + a, 2, "databases");
  expect_refusal("db diff -q " + a + " " + path("none"), 6, "does not exist");
}

TEST_F(CliDataTest, PruneSaysWhichRowsItWouldLeaveOutAndWritesOnlyANewFile) {
  const std::string db = " --db " + database("a.db", wrong());
  const ProgramRun asked = run("db prune -q --failures" + db);
  EXPECT_EQ(asked.exit_code, 0) << asked.errors;
  EXPECT_EQ(asked.output,
            "of failed candidates: 1 rows\n"
            "1 rows left out, 0 kept; nothing is written without --output NEW\n");
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_THAT(run("db prune -q --stale" + db + " --output " + out_).output,
              HasSubstr("stale: the kernel text has changed since: 1 rows\n1 rows left out, 0 "
                        "kept in " +
                        out_));
  expect_refusal("db prune -q --stale" + db + " --output " + out_, 6, "exists already");
  expect_refusal("db prune -q" + db, 2, "--stale, --failures, or --of");
  expect_refusal("db prune -q --of sm_70" + db, 2, "'sm_70' is no device or architecture");
}

}  // namespace
}  // namespace gemm_tune
