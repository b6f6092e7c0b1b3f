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

}  // namespace
}  // namespace gemm_tune
