// SPDX-License-Identifier: Apache-2.0
// gemm-tune run and capture, with a program that multiplies by a fake cuBLAS.
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

class CliDropInTest : public CliTest {
 protected:
  const std::string client_ = GT_CUBLAS_CLIENT;
};

TEST_F(CliDropInTest, RunGivesTheProgramsOutputAndExitCodeAndReportsOnStandardError) {
  const ProgramRun done = run("run --db " + path("none.db") + " --report " + path("report.jsonl") +
                              " -- " + client_ + " 64 96");
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_EQ(done.output, "cublas\ncublas\n");  // without a database and a GPU
  EXPECT_THAT(done.errors, HasSubstr("gemm-tune: served 0 of 2 calls of cuBLAS, 0.0 % of their "
                                     "operations\n"));
  EXPECT_THAT(done.errors, HasSubstr("  left to cuBLAS 2, 100.0 % of their operations: the library "
                                     "or its database is unusable\n"
                                     "    cublasSgemm 64x96x64: 1, 60.0 %\n"
                                     "    cublasSgemm 64x64x64: 1, 40.0 %\n"));
  EXPECT_THAT(done.errors, HasSubstr("none.db' does not exist: tune first\n"));
  EXPECT_THAT(read_file(path("report.jsonl")), HasSubstr("\"m\":96,\"n\":64"));
  const ProgramRun quiet = run("run -q -- " + client_);
  EXPECT_EQ(quiet.exit_code, 5);
  EXPECT_EQ(quiet.errors, "");
}

TEST_F(CliDropInTest, RunHandsTheProgramItsWordsAsTheyAre) {
  EXPECT_EQ(run("run -- sh -c 'echo \"$1|$2|$3\"' x '' '[a,b]' --").output, "|[a,b]|--\n");
  EXPECT_EQ(run("run -- sh -c 'exit 77'").exit_code, 77);
  EXPECT_EQ(run("run -- sh -c 'kill -TERM $$'").exit_code, 128 + 15);
  EXPECT_THAT(run("run -- true").errors, HasSubstr("no call of cuBLAS was seen"));
}

// The loader parts the names of libraries to preload at blanks and colons, and expands dollars.
TEST_F(CliDropInTest, AnInstallPrefixWithABlankAndAColonServesAsAnyOther) {
  const std::filesystem::path prefix = folder_ / "my tools:v1", bin = prefix / "bin";
  const std::filesystem::path built =
      std::filesystem::canonical(std::getenv("GT_PROGRAM")).parent_path() / "../dispatch";
  std::filesystem::create_directories(bin);
  std::filesystem::copy(std::getenv("GT_PROGRAM"), bin / "gemm-tune");
  for (const auto& entry : std::filesystem::directory_iterator(built)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libgemm_tune") && name.find(".so") != std::string::npos) {
      std::filesystem::copy(entry.path(), bin / name);
    }
  }
  const std::string own = "'" + (bin / "gemm-tune").string() + "'";
  const auto run_own = [&](const std::string& arguments, const std::string& before = "") {
    return run_program(own, arguments, before);
  };
  const ProgramRun done = run_own("run -- " + client_ + " 64");
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.errors, HasSubstr("gemm-tune: served 0 of 1 call of cuBLAS"));
  const ProgramRun audited = run_own("run --audit -- " GT_OPENING_CLIENT " dlsym " GT_FAKE_CUBLAS);
  EXPECT_THAT(audited.errors, HasSubstr("gemm-tune: served 0 of 1 call of cuBLAS"));
  std::filesystem::create_directory(folder_ / "tmp here");
  const ProgramRun refused =
      run_own("run -- " + client_ + " 64", "TMPDIR='" + path("tmp here") + "'");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("whose name has a blank, a colon or a dollar"));
  const std::filesystem::path other = folder_ / "my$LIB";  // the loader would put "lib" or the like
  std::filesystem::rename(prefix, other);
  const ProgramRun renamed =
      run_program("'" + (other / "bin/gemm-tune").string() + "'", "run -- " + client_ + " 64");
  EXPECT_THAT(renamed.errors, HasSubstr("gemm-tune: served 0 of 1 call of cuBLAS"));
}

TEST_F(CliDropInTest, RunSendsTheProgramTheSignalsThatItGetsAndStillReports) {
  for (const char* const signal : {"INT", "QUIT", "TERM", "HUP"}) {
    const std::string program = std::string("sh -c 'trap \"") + client_ + " 64; exit 7\" " +
                                signal + "; kill -" + signal +
                                " $PPID; while :; do sleep 0.05; done'";
    const ProgramRun done = run("run -- " + program);
    EXPECT_EQ(done.exit_code, 7) << signal;
    EXPECT_EQ(done.output, "cublas\n") << signal;
    EXPECT_THAT(done.errors, HasSubstr("gemm-tune: served 0 of 1 call of cuBLAS")) << signal;
  }
  const ProgramRun ended = run("run -- sh -c 'kill -TERM $PPID; exec sleep 60'");
  EXPECT_EQ(ended.exit_code, 128 + 15);
  EXPECT_THAT(ended.errors, HasSubstr("no call of cuBLAS was seen"));
}

TEST_F(CliDropInTest, RunReportsTheCallsOfAProgramThatIsKilled) {
  const ProgramRun killed = run("run --db " + path("none.db") + " -- " + client_ + " 64 96 kill");
  EXPECT_EQ(killed.exit_code, 128 + 9);
  EXPECT_THAT(killed.errors, HasSubstr("gemm-tune: served 0 of 2 calls of cuBLAS"));
  EXPECT_THAT(killed.errors, HasSubstr("none.db' does not exist: tune first\n"));
}

TEST_F(CliDropInTest, RunIgnoresASignalThatIsIgnoredAtItsStart) {
  const ProgramRun done = run("run -- sh -c 'kill -HUP $PPID; echo goes on'", "trap '' HUP;");
  EXPECT_EQ(done.output, "goes on\n");
  EXPECT_EQ(done.exit_code, 0);
}

TEST_F(CliDropInTest, AnAuditReachesAProgramThatFindsCublasByDlsym) {
  const std::string program = GT_OPENING_CLIENT " dlsym " GT_FAKE_CUBLAS;
  const ProgramRun without = run("run -- " + program);
  EXPECT_EQ(without.exit_code, 5);
  EXPECT_THAT(without.errors, HasSubstr("no call of cuBLAS was seen; --audit sees also those"));
  const ProgramRun with = run("run --audit -- " + program);
  EXPECT_EQ(with.exit_code, 5);
  EXPECT_THAT(with.errors, HasSubstr("gemm-tune: served 0 of 1 call of cuBLAS"));
  expect_refusal("capture -o " + path("calls.txt") + " -- " GT_OPENING_CLIENT, 2,
                 "; --audit sees also");
  EXPECT_EQ(run("capture --audit -o " + path("calls.txt") + " -- " + program).exit_code, 5);
  EXPECT_THAT(read_file(path("calls.txt")), HasSubstr("\n64x64x64  # 1 call"));
  expect_refusal("capture --audit --log x -o y", 2, "--log excludes --audit");
}

TEST_F(CliDropInTest, OptionsMayStandBeforeRunAndCapture) {
  const ProgramRun quiet = run("-q run -- " + client_ + " 64");
  EXPECT_EQ(quiet.exit_code, 5);
  EXPECT_EQ(quiet.output, "cublas\n");
  EXPECT_EQ(quiet.errors, "");
  const ProgramRun named = run("--db " + path("none.db") + " run -- " + client_ + " 64");
  EXPECT_EQ(named.exit_code, 5);
  EXPECT_THAT(named.errors, HasSubstr("none.db' does not exist: tune first\n"));
  EXPECT_EQ(run("--db=" + path("none.db") + " -q run -- sh -c 'exit 77' --").exit_code, 77);
  const ProgramRun captured = run("-q capture -o " + path("calls.txt") + " -- " + client_ + " 64");
  EXPECT_EQ(captured.exit_code, 5);
  EXPECT_EQ(captured.errors, "");
  EXPECT_THAT(read_file(path("calls.txt")), HasSubstr("\n64x64x64  # 1 call"));
  expect_refusal("--json run -- true", 2, "--json is no option of 'run', before which it stands");
}

// A value that is called as a command is, is no command.
TEST_F(CliDropInTest, AValueBeforeACommandIsNoCommand) {
  expect_refusal("--db run best --arch sm_86 --sizes 64 -- naive/BM=1", 2, "naive/BM=1");
}

TEST_F(CliDropInTest, RunRefusesWhatIsNoProgram) {
  expect_refusal("run", 2, "name the program behind --, as in gemm-tune run -- python3 train.py");
  expect_refusal("run --", 2, "name the program behind --");
  expect_refusal("run python3 train.py --epochs 3", 2, "'python3' stands behind no --: write");
  expect_refusal("run -- " + path("nowhere"), 2, "nowhere' cannot be started: No such file");
  expect_refusal("run --report " + path("no/folder") + " -- true", 2, "no/folder");
  expect_refusal("capture -- true", 2, "--output is required");
}

TEST_F(CliDropInTest, CaptureListsTheProblemsForFromCaptureTheMostWorkFirst) {
  const ProgramRun done = run("capture -o " + path("calls.txt") + " -- " + client_ + " 32 32 160");
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.errors, HasSubstr("2 problems in " + path("calls.txt")));
  EXPECT_EQ(read_file(path("calls.txt")),
            "# gemm-tune capture -o " + path("calls.txt") + " -- " + client_ +
                " 32 32 160\n"
                "64x160x64  # 1 call, 71.4 % of the operations\n"
                "64x32x64  # 2 calls, 28.6 % of the operations, 500 us "
                "of GPU time\n");
  const ProgramRun plan = run("--arch sm_86 --dry-run --from-capture " + path("calls.txt"));
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(plan.output, StartsWith("64x160x64 on "));
  EXPECT_THAT(plan.output, HasSubstr("\n64x32x64 on "));
  expect_refusal("--from-capture x --sizes 64", 2, "--sizes excludes --from-capture");
  for (const char* const other : {"--type bf16", "--layout nt", "--batch 2"}) {
    expect_refusal("--arch sm_86 --from-capture " + path("calls.txt") + " " + other, 2,
                   "excludes --from-capture");
  }
}

// The tests' driver lets every call take as long.
TEST_F(CliDropInTest, CaptureListsTheMostGpuTimeFirst) {
  run("capture -o " + path("calls.txt") + " -- " + client_ + " 160 160 160 32 32 32 32 32 32");
  EXPECT_THAT(read_file(path("calls.txt")),
              HasSubstr("\n64x32x64  # 6 calls, 28.6 % of the operations, 1500 us of GPU time\n"
                        "64x160x64  # 3 calls, 71.4 % of the operations, 750 us of GPU time\n"));
}

TEST_F(CliDropInTest, CaptureReadsALogInPlaceOfRunningAProgram) {
  write_file(path("untuned.csv"), "GemmTunableOp_float_NT,nt_64_32_16_ld_64_32_64\n");
  EXPECT_EQ(run("capture --log " + path("untuned.csv") + " -o " + path("calls.txt")).exit_code, 0);
  EXPECT_THAT(read_file(path("calls.txt")),
              HasSubstr("\n32x64x16:layout=tn  # 1 call, 100.0 % of the operations\n"));
  expect_refusal("capture --log " + path("calls.txt") + " -o " + path("x"), 2,
                 "calls.txt' has no product that could be served");
  expect_refusal("capture --log " + path("untuned.csv") + " -o x -- true", 2,
                 "--log runs no program: leave out 'true', or --log");
}

TEST_F(CliDropInTest, OfMoreProblemsThanASearchTakesTheCostliestAreCaptured) {
  std::string log;
  for (int m = 1; m <= 10001; ++m) {
    log += "GemmTunableOp_float_NN,nn_" + std::to_string(m) + "_64_64_ld_64_64_64\n";
  }
  write_file(path("untuned.csv"), log);
  const ProgramRun capture =
      run("capture --log " + path("untuned.csv") + " -o " + path("calls.txt"));
  EXPECT_EQ(capture.errors,
            "gemm-tune: 10,000 problems in " + path("calls.txt") + ", the costliest of 10,001\n");
  const std::string calls = read_file(path("calls.txt"));
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 10001);
  EXPECT_THAT(calls, HasSubstr("\n64x2x64  # 1 call"));
  EXPECT_THAT(calls, Not(HasSubstr("\n64x1x64  # 1 call")));
}

TEST_F(CliDropInTest, CaptureOfAProgramThatMultipliesNothingFindsNothing) {
  expect_refusal("capture -o " + path("calls.txt") + " -- true", 4,
                 "made no call of cuBLAS that could be served: true exited with 0");
  expect_refusal("capture -o " + path("calls.txt") + " -- sh -c 'exit 7'", 7,
                 "made no call of cuBLAS that could be served: sh exited with 7; --audit");
  EXPECT_FALSE(std::filesystem::exists(path("calls.txt")));
}

}  // namespace
}  // namespace gemm_tune
