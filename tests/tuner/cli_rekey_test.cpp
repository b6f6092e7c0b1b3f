// SPDX-License-Identifier: Apache-2.0
// Rows of another kernel text count again only if the machine code is the same.
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>

#include "tests/tuner/cli_fixture.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliRekeyTest : public CliTest {
 protected:
  // A folder of kernels with one change of naive.cuh, and one row of its kernel.
  void tune_with(const std::string& from, const std::string& to) const {
    std::filesystem::copy(GT_KERNEL_TEMPLATES, path("mine/kernel_templates"),
                          std::filesystem::copy_options::recursive);
    const std::string kernel = path("mine/kernel_templates/naive.cuh");
    std::string text = read_file(kernel);
    ASSERT_NE(text.find(from), std::string::npos);
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    std::ofstream(kernel, std::ios::binary) << text;
    const ProgramRun tune = run("tune" + sizes_ + db_ + mine_ + " --config " + kNaive);
    ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  }

  void SetUp() override { std::filesystem::create_directories(path("mine")); }

  const std::string db_ = " --db " + path("t.db"), mine_ = " --kernel-dir " + path("mine"),
                    sizes_ = " --arch sm_86 --sizes 64";
};

TEST_F(CliRekeyTest, ARenamedVariableLosesNothing) {
  tune_with("thread_row", "thread_line");
  const ProgramRun before = run("best" + sizes_ + db_);
  EXPECT_EQ(before.exit_code, 4);
  EXPECT_THAT(before.errors, HasSubstr("`gemm-tune db rekey` lets those count"));
  EXPECT_THAT(run("db info" + db_).output, HasSubstr("`gemm-tune db rekey` lets stale rows"));

  const ProgramRun rekey = run("db rekey" + db_);
  EXPECT_EQ(rekey.exit_code, 0) << rekey.errors;
  EXPECT_EQ(rekey.output, "re-keyed: 1 row of 1 config\n");
  const ProgramRun after = run("best" + sizes_ + db_);
  EXPECT_EQ(after.exit_code, 0) << after.errors;
  EXPECT_THAT(after.output, HasSubstr(std::string("64x64x64  exact  ") + kNaive));
  EXPECT_THAT(run("db info" + db_).output, Not(HasSubstr("stale")));
  EXPECT_EQ(run("db check" + db_).exit_code, 0);

  EXPECT_THAT(run("db rekey" + db_).output, HasSubstr("nothing to re-key"));
  EXPECT_THAT(run("db rekey" + db_ + mine_).output, HasSubstr("re-keyed: 1 row of 1 config"));
  EXPECT_EQ(run("best" + sizes_ + db_ + mine_).exit_code, 0);
}

TEST_F(CliRekeyTest, AChangedConstantStaysStale) {
  tune_with("sum = {{0.0f}}", "sum = {{1.0f}}");
  const ProgramRun rekey = run("db rekey" + db_);
  EXPECT_EQ(rekey.exit_code, 0) << rekey.errors;
  EXPECT_EQ(rekey.output,
            "re-keyed: 0 rows of 0 configs\n"
            "of other kernels: 1 row: the machine code differs\n");
  EXPECT_EQ(run("best" + sizes_ + db_).exit_code, 4);
}

TEST_F(CliRekeyTest, ARowOfVersion1CountsAgainThoughItsTextIsNotInTheDatabase) {
  {
    SQLite::Database old(path("t.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(read_file(GT_TEST_VERSION_1_SQL));
    old.exec("DELETE FROM candidates WHERE id <> 2091");  // the best of 300x200x100 on sm_86
  }
  const std::string best = "best --arch sm_86 --sizes 300x200x100" + db_;
  const ProgramRun before = run(best);
  EXPECT_EQ(before.exit_code, 4);
  EXPECT_THAT(before.errors, HasSubstr("`gemm-tune db rekey` lets those count"));
  EXPECT_EQ(run("db rekey" + db_).output, "re-keyed: 1 row of 1 config\n");
  const ProgramRun after = run(best);
  EXPECT_EQ(after.exit_code, 0) << after.errors;
  EXPECT_THAT(unbroken(after.output), HasSubstr("300x200x100 exact warp_tiled/"));
}

// NVRTC has handlers of its own while it compiles for the first time.
TEST_F(CliRekeyTest, ASignalAtAnyMomentInterruptsIt) {
  {
    SQLite::Database old(path("old.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(read_file(GT_TEST_VERSION_1_SQL));
  }
  for (int i = 1; i <= 12; ++i) {
    const std::string db = path("copy" + std::to_string(i) + ".db");
    std::filesystem::copy_file(path("old.db"), db);
    const char* const signal = i % 2 == 0 ? "INT" : "TERM";
    const ProgramRun rekey =
        run("db rekey --all --db " + db, std::string("timeout --preserve-status -s ") + signal +
                                             " " + std::to_string(0.15 + 0.05 * i) + " env");
    // 143: before the program watches for it.
    EXPECT_THAT(rekey.exit_code, testing::AnyOf(130, 143)) << signal << ' ' << i;
    EXPECT_EQ(run("db check -q --db " + db).exit_code, 0);
  }
}

TEST_F(CliRekeyTest, NamesADatabaseThatIsNotThere) {
  expect_refusal("db rekey" + db_, 6, "does not exist");
}

}  // namespace
}  // namespace gemm_tune
