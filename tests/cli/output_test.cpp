// SPDX-License-Identifier: Apache-2.0
// The destinations of the program's results: standard output that cannot be written, and files that
// a user names.
#include <nlohmann/json.hpp>

#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

class CliOutputTest : public CliTest {
 protected:
  std::string db() const { return " --db " + path("t.db"); }

  void tune() const {
    const ProgramRun tuned =
        run("-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db());
    ASSERT_EQ(tuned.exit_code, 0) << tuned.errors;
  }
};

TEST_F(CliOutputTest, ResultsThatCannotBeWrittenAreAFailureOfEveryCommand) {
  tune();
  const std::string problem = "--arch sm_86 --sizes 64" + db();
  const std::string tuned = " -q " + problem + " --config " + kNaive;
  for (const std::string& command :
       {"tune" + tuned, "tune --json" + tuned, "tune --dry-run" + tuned, "best " + problem,
        "best --json " + problem, "explain " + problem, "export --arch sm_86" + db(),
        "report -q" + db(), "db info -q" + db(), "db info -q --json" + db(), "db check -q" + db(),
        std::string("--help"), std::string("--version"), std::string("man"),
        std::string("completion bash")}) {
    expect_refusal(command + " >/dev/full", 7,
                   "standard output cannot be written: No space left on device");
    expect_refusal(command + " >&-", 7, "standard output cannot be written: Bad file descriptor");
  }
}

TEST_F(CliOutputTest, NoFileBecomesAStandardStreamThatIsClosed) {
  const std::string tune = "-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db();
  EXPECT_EQ(run(tune + " <&- >&-").exit_code, 7);
  const ProgramRun check = run("db check" + db());
  EXPECT_EQ(check.output, path("t.db") + " is sound\n");
  EXPECT_EQ(nlohmann::json::parse(run("db info --json" + db()).output).at("rows"), 1);
  EXPECT_EQ(run("export --arch sm_86 -o " + path("h") + db() + " <&- >&-").exit_code, 0)
      << "nothing had to be printed";
  EXPECT_THAT(read_file(path("h")), StartsWith("//"));
}

TEST_F(CliOutputTest, AReaderThatLeavesEndsTheProgramInSilence) {
  // The reader has gone when the program starts. 141: ended by SIGPIPE, in the shell's words.
  const std::string pipe = path("pipe"),
                    help = "--help >&4 2>" + path("why") + "; echo $? >" + path("code");
  const std::string open = "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3<&-;";
  run(help, open);
  EXPECT_EQ(read_file(path("code")), "141\n");
  EXPECT_EQ(read_file(path("why")), "");
  std::filesystem::remove(pipe);
  run(help, open + " trap '' PIPE;");
  EXPECT_EQ(read_file(path("code")), "7\n");
  EXPECT_THAT(read_file(path("why")), HasSubstr("Broken pipe"));
}

TEST_F(CliOutputTest, ExportReplacesFilesAndWritesToAnythingElse) {
  tune();
  const std::string start = "export --arch sm_86" + db() + " -o ";
  const std::string header = run("export --arch sm_86" + db()).output;
  EXPECT_EQ(run(start + "-").output, header);
  EXPECT_EQ(run(start + "/dev/stdout").output, header);
  EXPECT_EQ(run(start + path("h") + " >>" + path("h")).exit_code, 0);
  EXPECT_EQ(read_file(path("h")), header);
  const ProgramRun told = run(start + path("h"));
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.errors, "gemm-tune: " + path("h") + " is written\n");
  EXPECT_EQ(read_file(path("h")), header);
  EXPECT_EQ(run(start + path("h") + " -q").errors, "");
  EXPECT_EQ(run(start + "/dev/stdout").errors, "");

  write_file(path("log"), "first\n");
  EXPECT_EQ(run(start + "/dev/stdout >>" + path("log")).exit_code, 0);
  EXPECT_EQ(read_file(path("log")), "first\n" + header);

  std::filesystem::create_symlink("/dev/full", path("full"));
  expect_refusal(start + path("full"), 7, "No space left on device");
  expect_refusal(start + folder_.string(), 2, "it is a directory");
  expect_refusal(start + path("no/folder"), 2, "No such file or directory");
}

TEST_F(CliOutputTest, AReportIsAPageOfTheRowsThatWereAskedFor) {
  tune();
  const std::string start = "report" + db();
  const ProgramRun page = run(start + " -o " + path("report.html"));
  ASSERT_EQ(page.exit_code, 0) << page.errors;
  EXPECT_EQ(page.output, "");
  EXPECT_EQ(page.errors, "gemm-tune: " + path("report.html") + " is written\n");
  const std::string html = read_file(path("report.html"));
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("\"problem\":\"64x64x64\""));
  EXPECT_TRUE(run(start + " --arch sm_86 --type f32").output == html);
  EXPECT_TRUE(run(start).output == html) << "one database, one page";
  expect_refusal(start + " --arch sm_90", 4, "no rows of sm_90: its architectures are sm_86");
  expect_refusal(start + " --type bf16", 4, "no rows of this type");
  expect_refusal(start + " --type f33", 2, "f33");
  expect_refusal("report --db " + path("none.db"), 6, "none.db");
}

TEST_F(CliOutputTest, EveryCommandWritesItsFileTheSameWay) {
  std::filesystem::create_symlink("/dev/full", path("full"));
  const std::string explain =
      "explain --arch sm_86 --sizes 64 " + std::string(kNaive) + db() + " --cubin ";
  const std::string report = "report" + db() + " -o ";
  tune();
  for (const std::string& command : {explain, report}) {
    const ProgramRun full = run(command + path("full"));
    EXPECT_EQ(full.exit_code, 7) << command;
    EXPECT_THAT(full.errors, HasSubstr("full' cannot be written: No space left on device"));
    EXPECT_TRUE(std::filesystem::is_symlink(path("full")));
    expect_refusal(command + folder_.string(), 2, "it is a directory");
    expect_refusal(command + path("no/folder"), 2, "No such file or directory");
  }
}

TEST_F(CliOutputTest, NoCommandWritesOverADatabaseItsJournalsOrItsOwnInput) {
  tune();
  const std::string database = read_file(path("t.db"));
  const std::string wal = path("t.db-wal");
  for (const std::string& command :
       {"export --arch sm_86 -o " + wal + db(), "export --format json -o " + wal + db(),
        "report -o " + wal + db(), "explain --arch sm_86 --sizes 64 --cubin " + wal + db(),
        "run --report " + wal + " -- true", "capture -o " + wal + " -- true",
        "export --arch sm_86 --format bundle -o " + wal + db(), "db contribute -o " + wal + db(),
        "--arch sm_86 --sizes 64 --kernel-cache " + wal + db(), "db prune --stale -o " + wal + db(),
        "db merge " + wal + " " + path("t.db"), "--arch sm_86 --sizes 64 --db " + wal}) {
    expect_refusal(command, 2, "keeps changes of the database '" + path("t.db") + "'");
  }
  EXPECT_EQ(read_file(path("t.db")), database);
  write_file(path("log.csv"), "GemmTunableOp_float_NT,nt_64_32_16_ld_64_32_64\n");
  expect_refusal("capture --log " + path("log.csv") + " -o " + path("log.csv"), 2,
                 "log.csv' is read by this command");
  expect_refusal("capture --log " + path("log.csv") + " -o " + path("./log.csv"), 2,
                 "log.csv' is read by this command");
}

TEST_F(CliOutputTest, AFileThatIsTooLargeLeavesTheOldOne) {
  tune();
  write_file(path("out"), "old");
  const ProgramRun cut = run("report -q" + db() + " -o " + path("out"), "ulimit -f 1;");
  EXPECT_EQ(cut.exit_code, 7) << cut.errors;
  EXPECT_EQ(cut.errors, "gemm-tune: '" + path("out") + "' cannot be written: File too large\n");
  EXPECT_EQ(read_file(path("out")), "old");
}

}  // namespace
}  // namespace gemm_tune
