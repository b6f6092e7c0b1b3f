// SPDX-License-Identifier: Apache-2.0
// The output of a run on the command line: reports, plans, and the commands in them.
#include <SQLiteCpp/SQLiteCpp.h>

#include <nlohmann/json.hpp>

#include "db/database.h"
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

class CliReportTest : public CliTest {
 protected:
  // Of the run of the last row.
  std::string stored_command(const std::string& db) const {
    std::string command;
    Database(path(db), Database::Mode::read_only).for_each_record([&](const Record& row) {
      command = row.run.command;
    });
    return command;
  }
};

TEST_F(CliReportTest, DryRunKnowsWhatTheDatabaseHolds) {
  const std::string start =
      "--arch sm_86 --sizes 100x52x32 --seed 1 --db " + path("t.db") + kOneFamily;
  ASSERT_EQ(run(start + " --budget 3").exit_code, 0);
  const std::string before = read_file(path("t.db"));
  const ProgramRun dry = run(start + " --budget 5 --dry-run");
  EXPECT_THAT(dry.output, HasSubstr("left, 3 known from earlier runs, 2 would be tried\n"));
  const auto done = nlohmann::json::parse(run(start + " --budget 3 --dry-run --json").output);
  EXPECT_EQ(done.at("problems").at(0).at("known"), 3);
  EXPECT_EQ(done.at("problems").at(0).at("would_be_tried"), 0);
  EXPECT_EQ(done.at("estimated_s"), 0);
  EXPECT_EQ(done.at("estimated_from"), "0: nothing is left to compile");
  EXPECT_EQ(read_file(path("t.db")), before);
}

TEST_F(CliReportTest, DryRunTakesAnEmptyFileForAnEmptyDatabaseAsASearchDoes) {
  write_file(path("t.db"), "");
  const std::string tune =
      "--arch sm_86 --sizes 100x52x32 --budget 1 --db " + path("t.db") + kOneFamily;
  const ProgramRun dry = run(tune + " --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("1 would be tried\n"));
  EXPECT_EQ(read_file(path("t.db")), "");
  EXPECT_EQ(run(tune).exit_code, 0);
}

TEST_F(CliReportTest, DryRunAndExplainSayWhereTheModelWasNeverMeasured) {
  const std::string naive = std::string(kNaive) + " --db " + path("t.db");
  for (const std::string command : {"--dry-run --config ", "explain "}) {
    const std::string sentence =
        "the model's constants for sm_86 come from data sheets, or are those of sm_90: never "
        "measured here";
    const auto output = [&](const std::string& options) {
      const ProgramRun ran = run(command + naive + " --sizes 64 " + options);
      EXPECT_EQ(ran.exit_code, 0) << ran.errors;
      return unbroken(ran.output);
    };
    EXPECT_THAT(output("--arch sm_86"), HasSubstr(sentence));
    EXPECT_THAT(output("--arch sm_90"), Not(HasSubstr("never measured")));
    EXPECT_THAT(
        output("--arch sm_86"),
        HasSubstr("compiled for sm_86 and emulated by the project's tests, never executed"));
    EXPECT_THAT(output("--arch sm_90"), Not(HasSubstr("never executed")));
    // explain answers with a list of problems.
    const auto json = [&](const std::string& arch) {
      const auto all = nlohmann::json::parse(output("--json --arch " + arch));
      return (all.is_array() ? all.at(0) : all).at("model_measured_on");
    };
    EXPECT_EQ(json("sm_86"), nullptr);
    EXPECT_EQ(json("sm_90"), "NVIDIA H100 80GB HBM3");
  }
  const std::string both = " --arch sm_90 --sizes 64,64x64x64:type=bf16 --db " + path("t.db");
  EXPECT_THAT(run("--dry-run" + both).output, Not(HasSubstr("never measured")));
  const auto json = nlohmann::json::parse(run("--dry-run --json" + both).output);
  EXPECT_EQ(json.at("model_measured_on"), "NVIDIA H100 80GB HBM3");
}

TEST_F(CliReportTest, DryRunEstimatesFromTheStoredSecondsOfThisMachine) {
  const std::string start =
      "--arch sm_86 --sizes 64 --jobs 1 --config " + std::string(kNaive) + " --db " + path("t.db");
  const std::string dry_run = start + " --dry-run --json";
  auto plan = nlohmann::json::parse(run(dry_run).output);
  EXPECT_EQ(plan.at("estimated_s"), 0.6);
  EXPECT_THAT(plan.at("estimated_from").get<std::string>(), StartsWith("a guess"));

  ASSERT_EQ(run("-q " + start).exit_code, 0);
  SQLite::Database(path("t.db"), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE measurements SET compile_s = 2.5, predicted_us = NULL, disposition = 'timed_out',"
          " reason = 'compiler: not done after 60 s'");
  plan = nlohmann::json::parse(run(dry_run).output);
  EXPECT_EQ(plan.at("problems").at(0).at("would_be_tried"), 0);
  EXPECT_EQ(plan.at("estimated_s"), 0);
  plan = nlohmann::json::parse(run(dry_run + " --retry-failed").output);
  EXPECT_EQ(plan.at("problems").at(0).at("would_be_tried"), 1);
  EXPECT_EQ(plan.at("problems").at(0).at("retried"), 1);
  EXPECT_EQ(plan.at("estimated_s"), 2.5);
  EXPECT_THAT(plan.at("estimated_from").get<std::string>(),
              StartsWith("that of compilations by this machine"));
  EXPECT_THAT(run(start + " --dry-run --retry-failed").output,
              HasSubstr("1 would be tried (1 again that failed)\n"));

  const ProgramRun both = run(start +
                              " --dry-run --retry-failed --config "
                              "smem_tiled/BM=16,BN=16,BK=16,UNROLL=1,PRED=0");
  EXPECT_THAT(both.output, HasSubstr("about 3 s"));
  EXPECT_THAT(both.output, HasSubstr("for 1 of 2 candidates a guess"));

  SQLite::Database(path("t.db"), SQLite::OPEN_READWRITE).exec("UPDATE runs SET host = 'another'");
  plan = nlohmann::json::parse(run(dry_run + " --retry-failed").output);
  EXPECT_EQ(plan.at("estimated_s"), 0.6);
}

TEST_F(CliReportTest, TheWholeCommandLineIsStoredAndNamedAsAShellTakesIt) {
  const std::string line = "tune --arch sm_86 --sizes 64,96 --config " + std::string(kNaive) +
                           " --seed '7' --db '" + path("it'\\''s a.db") + "'";
  const ProgramRun tune = run(line);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const std::string shown = "gemm-tune tune --arch sm_86 --sizes 64,96 --config " +
                            std::string(kNaive) + " --seed 7 --db '" + path("it'\\''s a.db") + "'";
  EXPECT_THAT(tune.output, HasSubstr("run on a machine with an sm_86 GPU:\n  " + shown + "\n"));
  EXPECT_EQ(stored_command("it's a.db"), shown);
}

TEST_F(CliReportTest, BytesThatAreNoTextAreStoredAsAShellTakesThem) {
  write_file(path("configs \xff"), kNaive);
  const std::string start = "-q --arch sm_86 --sizes 64 --config ", db = " --db " + path("t.db");
  const ProgramRun tune = run(start + "'@" + path("configs \xff") + "'" + db);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_EQ(stored_command("t.db"),
            "gemm-tune " + start + "$'@" + path("configs \\xff") + "'" + db);
}

TEST_F(CliReportTest, QuietIsALineForEachProblemAndSeveralEndInATable) {
  const std::string start =
      "--arch sm_86 --sizes 64,96 --config " + std::string(kNaive) + " --db " + path("t.db");
  const ProgramRun quiet = run("-q " + start);
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.errors, "");
  const std::string number = "[0-9.]+";
  EXPECT_THAT(quiet.output,
              ContainsRegex(std::string("^64x64x64  ") + kNaive + "  " + number + " us  " + number +
                            " TFLOP/s  \\(predicted, not timed; model never measured on sm_86\\)\n"
                            "96x96x96  [^\n]*\n$"));
  const std::string heading = "2 problems on NVIDIA RTX A6000 (sm_86), predicted, not timed\n";
  EXPECT_THAT(run(start).output, HasSubstr(heading));
  EXPECT_THAT(
      run("--arch sm_86 --sizes 64 --config " + std::string(kNaive) + " --db " + path("t.db"))
          .output,
      Not(HasSubstr("problems on")));
}

}  // namespace
}  // namespace gemm_tune
