// SPDX-License-Identifier: Apache-2.0
// Runs the program itself, as a user does: exit codes, one-sentence errors, no half-written files.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "choose/choose.h"
#include "db/database.h"
#include "kernel_templates/source/source.h"
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

TEST_F(CliTest, RefusesBadSizesByName) {
  const std::string arch = "--arch sm_86 --sizes ";
  expect_refusal(arch + "0", 2, "size '0' has an edge below 1");
  expect_refusal(arch + "-5", 2, "size '-5' has an edge below 1");
  expect_refusal(arch + "1024x", 2, "size '1024x' does not have three edges");
  expect_refusal(arch + "99999999999", 2, "size '99999999999' has an edge above 2000000000");
  expect_refusal(arch + "abc", 2, "size 'abc' is not a size");
  std::ofstream(path("empty")).close();
  expect_refusal(arch + "@" + path("empty"), 2, "holds no size");
}

TEST_F(CliTest, RefusesBadOptionsByName) {
  expect_refusal("--arch sm_86", 2, "--sizes");
  expect_refusal("--arch sm_86 --sizes", 2, "--sizes");
  expect_refusal("--arch sm_999 --sizes 64", 2, "'sm_999' is not a target");
  expect_refusal("--sizes 64 --arch sm_86 --frobnicate", 2, "--frobnicate");
  expect_refusal("--sizes 64 --arch sm_86 --budget none", 2, "budget 'none'");
  expect_refusal("--sizes 64 --arch sm_86 --budget 0", 2, "budget '0'");
  expect_refusal("--sizes 64 --arch sm_86 --time soon", 2, "time 'soon'");
  expect_refusal("--sizes 64 --arch sm_86 --jobs 0", 2, "--jobs");
  expect_refusal("--sizes 64 --arch sm_86 --strategy oracle", 2, "oracle");
  expect_refusal("--sizes 64 --arch sm_86 --target 98", 2, "--target");
  expect_refusal("--sizes 64 --arch sm_86 --target 0.98 --strategy random", 2,
                 "which strategy 'random' does not give");
  expect_refusal(std::string("--sizes 64 --arch sm_86 --target 0.98 --config ") + kNaive, 2,
                 "--config lists what to try");
  expect_refusal("export --arch sm_86 --format yaml", 2, "--format");
}

// Of address space, from too little for the program to enough: NVRTC reports a lack of memory in
// several ways, as its front end or ptxas meet it, and now and then crashes.
TEST_F(CliTest, ACompilerWithoutMemoryIsNoFailureOfItsCandidate) {
  const std::string tune =
      "--arch sm_86 --sizes 64 --jobs 1 -q --json --no-kernel-cache --config " +
      std::string(kNaive) + " --db ";
  // So that the compiler is the first to lack memory.
  const std::string small_threads = "export MALLOC_ARENA_MAX=1; ulimit -s 1024; ";
  int without_memory = 0, exit_code = -1;
  for (int megabytes = 100; exit_code != 0 && megabytes < 1000; megabytes += 5) {
    const std::string db = path(std::to_string(megabytes) + ".db");
    const ProgramRun starved =
        run(tune + db, small_threads + "ulimit -v " + std::to_string(megabytes * 1024) + "; ");
    exit_code = starved.exit_code;
    if (exit_code != 5) continue;  // not even a worker could start, or all went well
    const auto funnel = nlohmann::json::parse(starved.output).at("problems").at(0).at("funnel");
    EXPECT_TRUE(funnel.at("compile_failed").empty()) << funnel;
    const bool crashed = funnel.at("failed_by_environment").empty();
    without_memory += crashed ? 0 : 1;
    EXPECT_EQ(run((crashed ? "--retry-failed " : "") + tune + db).exit_code, 0) << funnel;
  }
  EXPECT_EQ(exit_code, 0);
  EXPECT_GT(without_memory, 0);
}

TEST_F(CliTest, RefusesBadConfigsByTheOffendingPart) {
  const std::string start = "--arch sm_86 --sizes 64 --db " + path("t.db") + " --config ";
  expect_refusal(start + "naive/BM=16,BN=16,COALESED=1,PRED=0", 2, "'COALESED' is not a parameter");
  expect_refusal(start + "naive/BM=16,BN=16,PRED=0", 2, "lacks COALESCED");
  expect_refusal(start + "fancy/BM=16", 2, "'fancy' is not a kernel family");
  expect_refusal(start + "naive/BM=sixteen", 2, "'BM=sixteen'");
  expect_refusal(start + "coarsened_1d/BM=64,BN=64,BK=8,TM=7,PRED=0", 2, "is illegal");
  EXPECT_FALSE(std::filesystem::exists(path("t.db")));
}

TEST_F(CliTest, RefusesBadDatabasesAndLeavesThemAlone) {
  const std::string start = std::string("--arch sm_86 --sizes 64 --config ") + kNaive + " --db ";
  expect_refusal(start + folder_.string(), 6, folder_.string());
  std::ofstream(path("text.db")) << "this is my shopping list, not a database at all, really\n";
  expect_refusal(start + path("text.db"), 6, "text.db");
  std::ifstream text(path("text.db"));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "this is my shopping list, not a database at all, really");
  expect_refusal(start + path("no/such/folder/t.db"), 6, "no/such/folder");
  expect_refusal("best --arch sm_86 --sizes 64 --db " + path("missing.db"), 6, "missing.db");
}

TEST_F(CliTest, TellsWhatADatabaseHoldsAndWhetherItStillHolds) {
  const std::string db = " --db " + path("t.db");
  ASSERT_EQ(run("--arch sm_86 --sizes 64 --config " + std::string(kNaive) + db).exit_code, 0);
  const ProgramRun text = run("db info" + db);
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("schema 1, journal mode wal\nruns: 1, rows: 1\n"));
  EXPECT_THAT(text.output, HasSubstr("  64x64x64  1 ok (predicted, not timed)\n"
                                     "1 exact: nothing is known to have changed since\n"));
  const auto json = nlohmann::json::parse(run("db info --json" + db).output);
  EXPECT_EQ(json.at("rows"), 1);
  EXPECT_EQ(json.at("devices").at(0).at("problems").at(0).at("rows").at("predicted").at("ok"), 1);
  EXPECT_EQ(json.at("validity").at(0).at("validity"), "exact");
}

TEST_F(CliTest, BestAndExportTakeTheWinnerByColdTimesOrWithinALimitOfErrorsWhereAsked) {
  const std::string fast = "naive/BM=32,BN=32,COALESCED=1,PRED=0", plain = kNaive;
  {
    Database database(path("t.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "", "tune", 1}, current_revisions());
    const DeviceKey device = device_key(find_device_spec("sm_86").value());
    const Problem problem = parse_problem("64x64x64");
    const auto store = [&](const std::string& config, double us, double cold_us, double error,
                           Ranking ranking) {
      Outcome outcome;
      outcome.timing = Timing{us, {us}, 10, cold_us};
      outcome.ranking = ranking;
      outcome.error = error;
      database.store(device, problem, config, current_revisions().at("naive"), outcome,
                     Source::measured);
    };
    database.store_baseline(device, problem,
                            {"cublasSgemm", "13.1.0", Timing{12, {12}, 10, 19.0}, 2e-7});
    store(fast, 10, 30, 4e-7, {1, 2, true, true});
    store(plain, 11, 20, 2e-7, {2, 1, false, true});
  }
  const std::string rest = "--arch sm_86 --db " + path("t.db");
  const auto answer = [&](const std::string& rule) {
    return run("best --sizes 64 " + rest + rule).output;
  };
  EXPECT_THAT(answer(""), HasSubstr("  exact  " + fast));
  EXPECT_THAT(answer(" --objective hot"), HasSubstr("  exact  " + fast));
  EXPECT_THAT(answer(" --max-error 2"), HasSubstr("  exact  " + fast));
  EXPECT_THAT(answer(" --objective cold"), HasSubstr("  exact  " + plain));
  EXPECT_THAT(answer(" --max-error 1.0"),
              AllOf(HasSubstr("  exact  " + plain), HasSubstr("error 2e-07: 1 of cublasSgemm")));
  const ProgramRun none = run("best --sizes 64 " + rest + " --max-error 0.5");
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.errors, HasSubstr("no stored result has the times and errors that"));
  EXPECT_NE(run("export " + rest).output, run("export --objective cold " + rest).output);
  EXPECT_EQ(run("export --max-error 1 " + rest).output,
            run("export --objective cold " + rest).output);
  EXPECT_EQ(run("export --max-error 0.5 " + rest).exit_code, 4);
}

TEST_F(CliTest, WithoutAGpuTheOnlyDeviceOfTheDatabaseIsTheTarget) {
  const std::string db = " --db " + path("t.db");
  const auto store = [&](const char* arch, const char* name, int sm_count) {
    Database database(path("t.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "", "tune", 1}, current_revisions());
    Outcome outcome;
    outcome.timing = Timing{10, {10}, 10};
    outcome.ranking = Ranking{1, {}, true, true};
    database.store({arch, name, sm_count}, parse_problem("64x64x64"), kNaive,
                   current_revisions().at("naive"), outcome, Source::measured);
  };
  store("sm_86", "NVIDIA GeForce RTX 3090", 82);
  const ProgramRun best = run("best --sizes 64" + db);
  EXPECT_EQ(best.exit_code, 0) << best.errors;
  EXPECT_THAT(best.output, HasSubstr("the winner for this problem on NVIDIA GeForce RTX 3090"));
  EXPECT_EQ(run("export" + db).output, run("export --arch sm_86" + db).output);
  EXPECT_THAT(run("explain --sizes 64" + db).output,
              HasSubstr("at 64x64x64 on NVIDIA GeForce RTX 3090 (sm_86, 82 SMs)"));
  expect_refusal("--sizes 64" + db, 2, "name a target with --arch, as in --arch sm_86");
  expect_refusal("--require-gpu --sizes 64" + db, 3, "--require-gpu cannot be met");
  expect_refusal("--from-python --sizes 64" + db, 2, "name a target with arch, as in arch='sm_86'");
  expect_refusal("best --sizes 64 --db " + path("none.db"), 6, "none.db");

  store("sm_86", "NVIDIA RTX A6000", 84);
  EXPECT_EQ(run("export" + db).exit_code, 0) << "an export is of one architecture";
  expect_refusal(
      "best --sizes 64" + db, 2,
      "the database has results of NVIDIA GeForce RTX 3090 (sm_86, 82 SMs), NVIDIA RTX "
      "A6000 (sm_86, 84 SMs): name a target with --gpu, as in --gpu 'NVIDIA GeForce RTX 3090'");
  EXPECT_THAT(run("best --sizes 64 --gpu 'NVIDIA GeForce RTX 3090'" + db).output,
              HasSubstr("the winner for this problem on NVIDIA GeForce RTX 3090"));
  expect_refusal("bench --sizes 64" + db, 3, "bench times kernels on a GPU and cannot: ");
  store("sm_90", "NVIDIA H100 80GB HBM3", 132);
  expect_refusal("export" + db, 2, "NVIDIA H100 80GB HBM3 (sm_90, 132 SMs)");
}

TEST_F(CliTest, ChecksADamagedDatabaseAndNamesTheCommandThatRecoversItsRows) {
  const std::string db = " --db " + path("t.db");
  ASSERT_EQ(run("--arch sm_86 --sizes 64 --config " + std::string(kNaive) + db).exit_code, 0);
  EXPECT_EQ(run("db check" + db).exit_code, 0);
  EXPECT_EQ(run("db check" + db).output, path("t.db") + " is sound\n");
  const auto size = std::filesystem::file_size(path("t.db"));
  std::filesystem::resize_file(path("t.db"),
                               size - 100);  // the last page holds the candidate's key
  expect_refusal("best --arch sm_86 --sizes 64" + db, 6,
                 "t.db' is damaged (it ends after " + std::to_string(size - 100) + " of " +
                     std::to_string(size) + " bytes)");
  const ProgramRun check = run("db check" + db);
  EXPECT_EQ(check.exit_code, 6);
  EXPECT_THAT(check.output, HasSubstr("it ends after"));
  EXPECT_THAT(check.output, HasSubstr("`sqlite3 " + path("t.db") + " '.clone NEW'"));
  EXPECT_EQ(std::filesystem::file_size(path("t.db")), size - 100);
  ASSERT_EQ(
      run("--arch sm_86 --sizes 64 --config " + std::string(kNaive) + " --db " + path("new.db"))
          .exit_code,
      0);
  const std::string over_itself = path("new.db") + " -o " + path("new.db");
  expect_refusal("export --arch sm_86 --db " + over_itself, 2, "is a database");
}

TEST_F(CliTest, RefusesToPredictWhereAGpuIsDemanded) {
  expect_refusal("--arch sm_86 --sizes 64 --require-gpu", 3, "--require-gpu cannot be met");
  expect_refusal("--arch sm_86 --sizes 64 --max-error 1", 3,
                 "--max-error cannot be met without a GPU that measures errors: ");
  expect_refusal("--arch sm_86 --sizes 64 --max-error 1 --baselines cublaslt", 2,
                 "--max-error is a ratio to cuBLAS's error: add cublas to --baselines");
  expect_refusal("--arch sm_86 --sizes 64 --objective cold", 3,
                 "--objective cold cannot be met without a GPU that times cold operands: ");
  expect_refusal("--arch sm_86 --sizes 64 --accuracy fp16", 2,
                 "'fp16' is not an accuracy class: use one of fp32, tf32, ");
  expect_refusal("--arch sm_86 --sizes 64 --objective warm", 2, "'warm' is none of: hot, cold");
  expect_refusal("--arch sm_86 --sizes 64 --max-error 0", 2,
                 "--max-error: '0' is not a number from 0.001 to 1000000");
  expect_refusal("--sizes 64", 2, "--arch");
}

TEST_F(CliTest, HelpAndVersionGoToStandardOutput) {
  const ProgramRun help = run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("--sizes"), HasSubstr("gemm-tune --help-all")));
  EXPECT_THAT(help.output, Not(HasSubstr("--seed")));
  const ProgramRun all = run("--help-all");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.output, AllOf(HasSubstr("--seed"), HasSubstr("Exit codes: 0 done; ")));
  EXPECT_THAT(all.output, HasSubstr("--m-range FIRST:LAST"));  // CLI11 puts checks behind a colon
  EXPECT_THAT(run("best --help").output, StartsWith("The config for a size, from the database\n"
                                                    "Usage: gemm-tune best [OPTION]...\n"));
  EXPECT_THAT(run("db merge --help").output,
              HasSubstr("\nExamples:\n  gemm-tune db merge all.db mine.db theirs.db\n"));
  const ProgramRun version = run("--version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, StartsWith("gemm-tune 0."));
  EXPECT_THAT(version.output, HasSubstr("\ndatabase " + path("xdg") + "/gemm-tune/gemm-tune.db\n"));
}

TEST_F(CliTest, VersionNamesWhatDecidesWhetherRowsCount) {
  const std::string version = run("--version").output;
  EXPECT_THAT(version, HasSubstr("\nschema 1\n"));
  EXPECT_THAT(version, HasSubstr("\nNVRTC 13."));
  EXPECT_THAT(version, HasSubstr("\ndriver "));
  auto lines = std::count(version.begin(), version.end(), '\n');
  for (std::size_t at = 0; (at = version.find("\nlayer ", at)) != version.npos; ++at) --lines;
  EXPECT_EQ(lines, 6);  // but for the layers of this build
  EXPECT_EQ(run("--version", "HOME=").exit_code, 0);
}

TEST_F(CliTest, DryRunCompilesAndWritesNothing) {
  const ProgramRun dry = run("--arch sm_86 --sizes 1024 --dry-run --db " + path("t.db"));
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("128 would be tried"));
  EXPECT_THAT(dry.output, HasSubstr("nothing was compiled"));
  EXPECT_THAT(dry.output, HasSubstr("the time is a guess, not measured on this machine"));
  const ProgramRun long_one = run("--arch sm_86 --sizes 1024 --budget 10000 --jobs 1 --dry-run");
  EXPECT_THAT(long_one.output, testing::ContainsRegex("about [0-9]+ min|about [0-9.]+ h"));
  EXPECT_THAT(long_one.output, Not(HasSubstr("--time")));
  EXPECT_THAT(run("--arch sm_86 --sizes 1024 --budget 10000 --jobs 1 --time 1:00 --dry-run").output,
              HasSubstr("\n--time 1:00 ends the run before all of these are tried\n"));
  EXPECT_THAT(run("--arch sm_86 --sizes 64 --dry-run --config " + std::string(kNaive)).output,
              HasSubstr("\nless than 1 s with "));
  EXPECT_FALSE(std::filesystem::exists(path("t.db")));
}

TEST_F(CliTest, ADryRunOfAProblemWithoutACandidateNamesTheReasonThatDecides) {
  const ProgramRun dry =
      run("--arch sm_86 --sizes 2000000000x2000000000x1 --dry-run --db " + path("t.db"));
  EXPECT_EQ(dry.exit_code, 4) << dry.errors;
  const std::string said = unbroken(dry.output);
  EXPECT_THAT(said, HasSubstr("no candidate is left: the problem is too large: more CTAs than a "
                              "launch may have"));
  EXPECT_THAT(said, HasSubstr("GiB and NVIDIA RTX A6000 has 48: it cannot run there"));
  const ProgramRun other =
      run("--arch sm_86 --sizes 64 --config mma --dry-run --db " + path("t.db"));
  EXPECT_EQ(other.exit_code, 4) << other.errors;
  EXPECT_THAT(unbroken(other.output),
              HasSubstr("no family that is tried has kernels of these types"));
}

TEST_F(CliTest, ACardIsNamedByGpuAndAnArchitectureSaysWhichCardItStandsFor) {
  const std::string rest = " --sizes 64 --dry-run --db " + path("t.db") + kOneFamily;
  EXPECT_THAT(unbroken(run("--arch sm_86" + rest).output),
              HasSubstr("sm_86 stands for its typical card, NVIDIA RTX A6000 with 84 SMs: --gpu"));
  const std::string named = unbroken(run("--gpu 'RTX 3090'" + rest).output);
  EXPECT_THAT(named, HasSubstr("on NVIDIA GeForce RTX 3090 (sm_86)"));
  EXPECT_THAT(named, Not(HasSubstr("stands for")));
  expect_refusal("--gpu A100" + rest, 2, "'A100' may be NVIDIA A100-SXM4-80GB, ");
  expect_refusal("--gpu 'GTX 9999'" + rest, 2, "'GTX 9999' is no card that is known here");
  expect_refusal("--gpu A30 --arch sm_86" + rest, 2, "--arch excludes --gpu");
}

// 112 GiB of matrices.
TEST_F(CliTest, APredictionForMoreThanTheCardsMemorySaysSo) {
  const ProgramRun tune =
      run("--arch sm_86 --sizes 100000 --config " + std::string(kNaive) + " --db " + path("t.db"));
  EXPECT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_THAT(unbroken(tune.output),
              HasSubstr("its matrices need 112 GiB and NVIDIA RTX A6000 has 48: it cannot run"));
}

TEST_F(CliTest, PredictsStoresAndAnswersFromTheDatabase) {
  const std::string db = " --db " + path("t.db");
  const ProgramRun tune = run("--arch sm_86 --sizes 256,100x52x33 --budget 3 --seed 1" + db);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_THAT(tune.output, HasSubstr("256x256x256 on NVIDIA RTX A6000 (sm_86, 84 SMs)"));
  EXPECT_THAT(tune.output, HasSubstr("predicted, not timed"));
  EXPECT_THAT(tune.output, HasSubstr("run on a machine with an sm_86 GPU"));

  const ProgramRun best = run("best --json --arch sm_86 --sizes 256,250,100x52x33" + db);
  ASSERT_EQ(best.exit_code, 0) << best.errors;
  const auto rows = nlohmann::json::parse(best.output);
  EXPECT_EQ(rows[0].at("match"), "exact");
  EXPECT_EQ(rows[0].at("source"), "predicted");
  EXPECT_EQ(rows[1].at("match"), "nearest");
  EXPECT_TRUE(rows[1].at("predicated_specialisation").get<bool>());
  EXPECT_THAT(rows[1].at("config").get<std::string>(), HasSubstr("PRED=1"));
  EXPECT_EQ(rows[2].at("match"), "exact");
  // The run's report and the database name the same winner.
  EXPECT_THAT(tune.output, HasSubstr("winner   " + rows[0].at("config").get<std::string>()));

  const ProgramRun header = run("export --arch sm_86" + db);
  EXPECT_EQ(header.exit_code, 0) << header.errors;
  EXPECT_THAT(header.output, HasSubstr("#pragma once"));
  EXPECT_EQ(run("export --arch sm_86" + db).output, header.output);

  const ProgramRun other = run("best --arch sm_90 --sizes 256" + db);
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.output, HasSubstr("cuBLAS, for nothing tuned for sm_90 fits 256x256x256"));
}

TEST_F(CliTest, VerboseSaysWhatHappensToEachCandidate) {
  // 512 threads may have 128 registers each, and their accumulators alone take that many.
  const std::string spills =
      "vectorized_2d/BM=256,BN=256,BK=8,TM=16,TN=8,VEC=1,PAD=0,INTERLEAVE=0,PRED=0";
  const std::string start = "--arch sm_86 --sizes 256 --db ";
  EXPECT_THAT(run("-v " + start + path("1.db") + " --config " + kNaive).errors,
              ContainsRegex(std::string("(^|\n)gemm-tune: 256x256x256: ") + kNaive +
                            " ok, [0-9.]+ us predicted\n"));
  EXPECT_THAT(run("-v " + start + path("2.db") + " --config " + spills).errors,
              HasSubstr("gemm-tune: 256x256x256: " + spills +
                        " rejected: registers spill to local memory\n"));

  // One line for each of five, in place of those on progress.
  std::istringstream errors(
      run("-v --seed 1 --budget 5 " + start + path("3.db") + kOneFamily).errors);
  int lines = 0;
  for (std::string line; std::getline(errors, line); ++lines) {
    EXPECT_THAT(line, StartsWith("gemm-tune: 256x256x256: "));
  }
  EXPECT_EQ(lines, 5);
  const std::string plain = run("--seed 1 --budget 5 " + start + path("4.db") + kOneFamily).errors;
  EXPECT_THAT(plain, AllOf(HasSubstr("256x256x256: 0/5 tried"), Not(HasSubstr(" ok, "))));
}

TEST_F(CliTest, LayoutAndBatchAreThoseOfEverySize) {
  const std::string db = " --db " + path("t.db");
  const ProgramRun tune = run(
      "--arch sm_86 --sizes 128,100x52x33 --batch 8 --budget 2 --seed 1 --json" + db + kOneFamily);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const auto problems = nlohmann::json::parse(tune.output).at("problems");
  EXPECT_EQ(problems[0].at("problem"), "128x128x128:batch=8");
  EXPECT_EQ(problems[1].at("problem"), "100x52x33:batch=8");
  const ProgramRun best = run("best --json --arch sm_86 --sizes 128 --batch 8" + db);
  ASSERT_EQ(best.exit_code, 0) << best.errors;
  EXPECT_EQ(nlohmann::json::parse(best.output)[0].at("match"), "exact");
  EXPECT_EQ(
      nlohmann::json::parse(run("best --json --arch sm_86 --sizes 128" + db).output)[0].at("match"),
      "nearest");
  const ProgramRun dry =
      run("--arch sm_86 --sizes 1024 --layout tn --batch 2 --dry-run --config skinny" + db);
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("1024x1024x1024:layout=tn:batch=2 on"));
  const ProgramRun explain =
      run("explain --arch sm_86 --sizes 64 --layout nt " + std::string(kNaive) + db);
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, AllOf(HasSubstr("at 64x64x64:layout=nt on"),
                                    HasSubstr("the kernel is for another layout")));
}

TEST_F(CliTest, TypesAreThoseOfEverySizeAndNeverMixed) {
  const std::string db = " --db " + path("t.db");
  const ProgramRun tune = run(
      "--arch sm_86 --type bf16 --sizes 128,64:layout=nt,64:type=f32 --budget 2 --seed 1 --json "
      "--config mma" +
      db + kOneFamily);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  const auto problems = nlohmann::json::parse(tune.output).at("problems");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].at("problem"), "128x128x128:type=bf16");
  EXPECT_EQ(problems[1].at("problem"), "64x64x64:type=bf16:layout=nt");
  EXPECT_EQ(problems[2].at("problem"), "64x64x64");
  const auto best = [&](const std::string& sizes) {
    const ProgramRun answer = run("best --json --arch sm_86 --sizes " + sizes + db);
    return nlohmann::json::parse(answer.output).at(0);
  };
  EXPECT_EQ(best("128 --type bf16").at("match"), "exact");
  EXPECT_EQ(best("100 --type bf16").at("match"), "nearest");
  const nlohmann::json mixed = best("128 --type bf16/bf16/f32/f32");
  EXPECT_EQ(mixed.at("match"), "default");
  EXPECT_EQ(mixed.at("config"), "cublas/WORKSPACE=33554432");
  const std::string alone = "128 --without-library --type bf16/bf16/f32/f32";
  EXPECT_THAT(best(alone).at("config").get<std::string>(), StartsWith("mma/"));
  EXPECT_THAT(best("128").at("config").get<std::string>(), Not(StartsWith("mma/")));
  const ProgramRun old = run("-q --arch sm_75 --type bf16 --sizes 64" + db);
  EXPECT_EQ(old.exit_code, 4) << old.errors;
  EXPECT_THAT(old.output, HasSubstr("needs instructions that the target lacks"));
  EXPECT_THAT(run("--dry-run --arch sm_75 --type bf16 --sizes 64" + db).output,
              HasSubstr("0 would be tried\n  sm_75 has no kernel of bf16\n"));
}

TEST_F(CliTest, RefusesLayoutsAndBatchesThatAreNone) {
  expect_refusal("--arch sm_86 --sizes 64 --layout tnt", 2,
                 "'tnt' is not a layout: use nn, nt, tn or tt");
  expect_refusal("best --arch sm_86 --sizes 64 --layout NT", 2, "'NT' is not a layout");
  expect_refusal("--arch sm_86 --sizes 64 --batch 0", 2, "--batch");
  expect_refusal("--arch sm_86 --sizes 64 --batch 65536", 2, "1 to 65535");
  expect_refusal("--arch sm_86 --sizes 64 --batch many", 2, "--batch");
  expect_refusal("ladder --arch sm_86 --sizes 64 --layout nt", 2,
                 "the ladder has no rungs for 64x64x64:layout=nt");
  expect_refusal("ladder --arch sm_86 --sizes 64x64x64:batch=2", 2,
                 "leave out type, layout and batch");
  expect_refusal("ladder --arch sm_86 --sizes 64 --type bf16", 2,
                 "the ladder has no rungs for 64x64x64:type=bf16");
  expect_refusal("--arch sm_86 --sizes 64 --type fp16", 2, "'fp16' is not a type");
}

TEST_F(CliTest, NothingLeftByTheFilterHasItsOwnExitCode) {
  // Sixteen rows do not divide 100 and the config is not predicated.
  const ProgramRun none =
      run(std::string("--arch sm_86 --sizes 100 --config ") + kNaive + " --db " + path("t.db"));
  EXPECT_EQ(none.exit_code, 4) << none.errors;
  EXPECT_THAT(none.output, HasSubstr("no candidate survived"));
}

TEST_F(CliTest, OnlyKnownBaselinesAreTaken) {
  expect_refusal("--arch sm_86 --sizes 64 --baselines cublas,rocblas --db " + path("t.db"), 2,
                 "rocblas");
}

TEST_F(CliTest, BenchNeedsAGpuAndSaysSoInOneSentence) {
  expect_refusal("bench --arch sm_86 --sizes 64 --db " + path("t.db"), 3,
                 "bench times kernels on a GPU and cannot: ");
  expect_refusal("bench --arch sm_86 --sizes wobble --db " + path("t.db"), 2, "wobble");
}

TEST_F(CliTest, ExplainTellsLimitsResourcesAndModel) {
  const ProgramRun explain =
      run(std::string("explain --arch sm_86 --sizes 1024 ") + kNaive + " --db " + path("t.db"));
  ASSERT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, HasSubstr("256 threads of 1 x 1"));
  EXPECT_THAT(explain.output, HasSubstr("registers"));
  EXPECT_THAT(explain.output, HasSubstr("CTAs per SM"));
  EXPECT_THAT(explain.output, HasSubstr("predicted, not timed"));
}

TEST_F(CliTest, ExplainGivesEachFigureItsOriginAndTheCommandsThatSettleTheRest) {
  const ProgramRun explain =
      run("explain --arch sm_86 --sizes 1024 " + std::string(kNaive) + " --db " + path("none.db"));
  ASSERT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, ContainsRegex("\n  registers a thread +[0-9]+ +compiler\n"));
  EXPECT_THAT(explain.output, ContainsRegex("\n  waves +8\\.13 +formula\n"));
  EXPECT_THAT(explain.output, ContainsRegex("\n  time, measured +inconclusive +measurement\n"));
  // Two rows of 16 lanes: of B and D 64 bytes of a row each, of A one element of each row.
  EXPECT_THAT(explain.output, ContainsRegex("\n  loads of B +4 B a lane +compiler\n"
                                            "    sectors a request +2, 32 of 32 B +formula\n"));
  EXPECT_THAT(explain.output, ContainsRegex("\n    sectors a request +4, 32 of 32 B +formula\n"));
  EXPECT_THAT(explain.output, HasSubstr("gemm-tune --sizes 1024x1024x1024 --db " + path("none.db") +
                                        " \\\n      --config '" + kNaive + "'\n"));
}

TEST_F(CliTest, ExplainPutsTheBestOtherConfigBesideAnyConfigAndTheNextBestBesideTheWinner) {
  const std::string db = " --arch sm_86 --sizes 256 --db " + path("t.db");
  ASSERT_EQ(run("-q --budget 2 --seed 1" + db + kOneFamily).exit_code, 0);
  const auto json_of = [&](const std::string& config) {
    return nlohmann::json::parse(run("explain --json " + config + db).output)[0];
  };
  const nlohmann::json winner = json_of(""), naive = json_of(kNaive);
  EXPECT_EQ(naive["best_other"], winner["config"]);
  EXPECT_NE(winner["best_other"], winner["config"]);
  EXPECT_NE(winner["best_other"], kNaive);
  int compared = 0;
  for (const nlohmann::json& figure : naive["figures"]) {
    if (figure["name"] != "registers") continue;
    EXPECT_EQ(figure["best_other"], winner["resources"]["registers"]);
    EXPECT_EQ(figure["value"], naive["resources"]["registers"]);
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

TEST_F(CliTest, ExplainWritesTheCubinThatItWasAskedFor) {
  const std::string explain = std::string("explain --arch sm_86 --db ") + path("t.db") + " ";
  ASSERT_EQ(run(explain + "--sizes 1024 --cubin " + path("k.cubin") + " " + kNaive).exit_code, 0);
  std::ifstream in(path("k.cubin"), std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(cubin, StartsWith("\x7f"
                                "ELF"));
  EXPECT_THAT(cubin, HasSubstr("gemm"));

  // Of a kernel that may not be used there, none is written.
  EXPECT_EQ(run(explain + "--sizes 1023 --cubin " + path("none") + " " + kNaive).exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  expect_refusal(explain + "--sizes 1024,2048 --cubin " + path("none") + " " + kNaive, 2,
                 "one size");
  const ProgramRun unwritable =
      run(explain + "--sizes 1024 --cubin " + path("no/folder") + " " + kNaive);
  EXPECT_EQ(unwritable.exit_code, 2);
  EXPECT_THAT(unwritable.errors, HasSubstr("cannot be written"));
}

TEST_F(CliTest, TheDefaultDatabaseLiesInTheDataFolder) {
  const ProgramRun tune = run(std::string("--arch sm_86 --sizes 64 --config ") + kNaive);
  EXPECT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_TRUE(std::filesystem::exists(path("xdg/gemm-tune/gemm-tune.db")));
}

TEST_F(CliTest, AKernelFolderReplacesTheBuiltInTexts) {
  std::filesystem::create_directories(path("mine/kernel_templates"));
  expect_refusal(std::string("--arch sm_86 --sizes 64 --config ") + kNaive + " --db " +
                     path("t.db") + " --kernel-dir " + path("mine"),
                 2, "naive/kernel.cuh");
}

TEST_F(CliTest, ResultsOfAKernelFolderAreThereForWhoNamesIt) {
  std::filesystem::create_directories(path("mine"));
  std::filesystem::copy(GT_KERNEL_TEMPLATES, path("mine/kernel_templates"),
                        std::filesystem::copy_options::recursive);
  const std::string kernel = path("mine/kernel_templates/naive/kernel.cuh");
  std::string text = read_file(kernel);
  text.insert(text.find("extern \"C\""), "constexpr int kMine = 1;\n");
  std::ofstream(kernel, std::ios::binary) << text;
  // A folder that was copied from a release without mma.
  std::filesystem::remove(path("mine/kernel_templates/mma/kernel.cuh"));
  const std::string db = " --db " + path("t.db"), mine = " --kernel-dir " + path("mine");
  const std::string sizes = " --arch sm_86 --sizes 64";
  const ProgramRun tune = run("tune" + sizes + db + mine + " --config " + kNaive);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;

  const ProgramRun best = run("best" + sizes + db);
  EXPECT_EQ(best.exit_code, 4);
  EXPECT_THAT(best.errors, HasSubstr("1 results for sm_86 are of other kernels"));
  EXPECT_EQ(run("export --arch sm_86" + db).exit_code, 4);
  const ProgramRun named = run("best" + sizes + db + mine);
  EXPECT_EQ(named.exit_code, 0) << named.errors;
  EXPECT_EQ(named.errors, "");
  EXPECT_THAT(named.output, HasSubstr(std::string("64x64x64  exact  ") + kNaive));
  EXPECT_THAT(run("export --arch sm_86" + db + mine).output, HasSubstr(kNaive));
  EXPECT_THAT(run("explain" + sizes + db + mine).output, StartsWith(kNaive));

  // Nobody knows in which order an edited text adds up.
  const std::string invariant = " --batch-invariant" + mine + db;
  expect_refusal("--arch sm_86 --m-range 64:64 --sizes 64 --config naive" + invariant, 4,
                 "no config that could be tried has an order of sums");
  EXPECT_EQ(run("best" + sizes + invariant).exit_code, 4);
}

}  // namespace
}  // namespace gemm_tune
