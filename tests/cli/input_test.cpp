// SPDX-License-Identifier: Apache-2.0
// Input that the program refuses, or shows although it is malformed text: numbers, empty texts,
// paths.
#include <nlohmann/json.hpp>

#include "cli/tune/request.h"
#include "kernel_templates/source/source.h"
#include "tests/cli/fixture.h"
#include "tuner/agents/one_machine.h"
#include "tuner/work/worker.h"

namespace gemm_tune {
namespace {

class CliInputTest : public CliTest {
 protected:
  std::string db() const { return " --db " + path("t.db"); }
};

TEST_F(CliInputTest, NumbersAreDecimalDigitsInTheirRange) {
  const std::string start = "--arch sm_86 --sizes 64 --dry-run" + db() + " ";
  for (const char* text :
       {"-1", "+5", "' 5'", "'5 '", "0x10", "010", "1e3", "5.0", "true", "18446744073709551616"}) {
    for (const char* option : {"--device", "--sm-count", "--jobs", "--batch", "--seed"}) {
      expect_refusal(start + option + " " + text, 2, std::string(option) + ": '");
    }
    expect_refusal(start + "--target " + text, 2, "--target: '");
  }
  for (const char* text : {"-1", "+5", "' 5'", "'5 '", "0x10", "1e3", "5.0", "''"}) {
    expect_refusal(start + "--budget " + text, 2, "budget");
    expect_refusal(start + "--time " + text, 2, "time");
    expect_refusal(start + "--devices " + text, 2, "devices");
  }
  for (const char* text : {"nan", "-nan", "inf", "0x0.98p0", "0.98x", "' 0.98'", "+0.98"}) {
    expect_refusal(start + "--target " + text, 2, "' is not a number from 0.5 to 0.9999");
  }
  expect_refusal(start + "--seed -1", 2,
                 "--seed: '-1' is not a whole number from 0 to 18446744073709551615");
}

TEST_F(CliInputTest, TheLastNumbersOfARangeAreTaken) {
  const std::string start = "--arch sm_86 --sizes 64 --dry-run" + db() + " ";
  for (const char* option : {"--target 0.5", "--target .9999"}) {
    EXPECT_EQ(run(start + option).exit_code, 0) << option;
  }
  for (const char* option : {"--budget 010", "--time 01:05"}) {
    EXPECT_EQ(run(start + option + kOneFamily).exit_code, 0) << option;
  }
  const std::string one_config = start + "--config " + kNaive;
  for (const char* option : {" --seed 0", " --seed 18446744073709551615", " --sm-count 4096",
                             " --jobs 1024", " --device 1023", " --batch 65535"}) {
    EXPECT_EQ(run(one_config + option).exit_code, 0) << option;
  }
}

TEST_F(CliInputTest, SizesMayBeSeveralWords) {
  const auto problems = [&](const std::string& arguments) {
    const ProgramRun ran =
        run(arguments + " --arch sm_86 --json --dry-run --config " + std::string(kNaive) + db());
    EXPECT_EQ(ran.exit_code, 0) << arguments << "\n" << ran.errors;
    std::string all;
    const auto plan = nlohmann::json::parse(ran.output);
    for (const auto& one : plan.at("problems")) {
      all += one.at("problem").get<std::string>() + " ";
    }
    return all;
  };
  write_file(path("more.txt"), "32\n");
  EXPECT_EQ(problems("--sizes 64 96"), "64x64x64 96x96x96 ");
  EXPECT_EQ(problems("--sizes '64 96'"), "64x64x64 96x96x96 ");
  EXPECT_EQ(problems("--sizes 64, 96,"), "64x64x64 96x96x96 ");
  EXPECT_EQ(problems("--sizes=64 96"), "64x64x64 96x96x96 ");
  EXPECT_EQ(problems("--sizes 64 x 96 X 32"), "64x96x32 ");
  EXPECT_EQ(problems("tune --sizes 64 @" + path("more.txt") + " 96"),
            "64x64x64 32x32x32 96x96x96 ");
  // What follows the sizes of explain is a config.
  const ProgramRun explain =
      run("explain --arch sm_86 --sizes 64 96 " + std::string(kNaive) + db());
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, HasSubstr("at 96x96x96 on"));
  expect_refusal("--arch sm_86 --sizes [64, 32] @ [32, 96]", 2, "write 64x96x32");
  expect_refusal("--arch sm_86 --sizes -m 64 -n 64 -k 32", 2, "write 64x64x32");
}

// A pipe can be read once.
TEST_F(CliInputTest, ANameOfAFileIsNoList) {
  write_file(path("a,b.txt"), "64\n");
  const ProgramRun plan = run("--arch sm_86 --dry-run --from-capture " + path("a,b.txt") + db());
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(plan.output, testing::StartsWith("64x64x64 on "));
  write_file(path("[a,b]"), "text");
  expect_refusal("db merge new.db '[a,b]'", 6, "[a,b]' is not a", "cd " + folder_.string() + ";");
}

TEST_F(CliInputTest, SizesMayComeThroughAPipe) {
  std::filesystem::copy(GT_KERNEL_TEMPLATES, path("kernel_templates"),
                        std::filesystem::copy_options::recursive);
  const std::string mine = " --kernel-dir " + folder_.string();
  for (const std::string& arguments : {"--dry-run" + db(), "--dry-run" + mine + db(),
                                       "explain " + std::string(kNaive) + mine + db()}) {
    const ProgramRun piped =
        run(arguments + " --arch sm_86 --sizes @/dev/stdin", "printf '64\\n' |");
    EXPECT_EQ(piped.exit_code, 0) << arguments << "\n" << piped.errors;
    EXPECT_THAT(piped.output, HasSubstr("64x64x64")) << arguments;
  }
}

TEST_F(CliInputTest, AnOptionGivenTwiceOrWithoutItsValueIsNamed) {
  expect_refusal("best --arch sm_86 --arch sm_90 --sizes 64", 2,
                 "--arch is given more than once: give it once");
  expect_refusal("--db a.db best --db b.db --arch sm_86 --sizes 64", 2,
                 "--db is given more than once");
  expect_refusal("--arch sm_86 --sizes", 2, "--sizes needs a value: write one behind it");
  expect_refusal("--arch sm_86 --budget=", 2, "--budget needs a value");
  expect_refusal("db", 2, "db needs one of info, check, merge, diff, import, contribute and prune");
}

TEST_F(CliInputTest, WordsThatAreNotExpectedAreAnsweredWithWhatToWrite) {
  expect_refusal("", 2, "name the problems with --sizes, as in --sizes 1024,4096");
  expect_refusal("--arch sm_86 --size 64", 2, "'--size' is no option: perhaps --sizes is meant;");
  expect_refusal("--arch sm_86 --sizes 64 --jbos=3", 2,
                 "'--jbos' is no option: perhaps --jobs is meant;");
  expect_refusal("best --archs sm_86 --sizes 64", 2,
                 "'--archs' is no option of 'best': perhaps --arch is meant;");
  expect_refusal("--sizes 64 --frobnicate", 2, "'--frobnicate' is no option; see gemm-tune --help");
  expect_refusal("db check --json", 2,
                 "'--json' is no option of 'db check'; see gemm-tune db check --help");
  expect_refusal("1024", 2, "'1024' stands behind no option: write --sizes 1024");
  expect_refusal("bset --sizes 64", 2, "'bset' is no command: perhaps best is meant;");
  expect_refusal("wobble", 2, "'wobble' is no command: use one of tune, speed-up, best, ");
  expect_refusal("best --sizes 64 foo", 2, "'foo' is more than 'best' takes: leave it out");
  expect_refusal("best", 2, "--sizes is required: name the problems, as in --sizes 1024,");
  expect_refusal("capture -- true", 2, "--output is required: name what to write, as in -o FILE");
}

TEST_F(CliInputTest, AdviceToTuneIsACommand) {
  const std::string missing = " --db '" + path("a b.db") + "'";
  const std::string command =
      "tune first, as in gemm-tune --arch sm_86 --sizes 64,96 --layout nt" + missing + "\n";
  expect_refusal("best --arch sm_86 --sizes 64,96 --layout nt" + missing, 6, command);
  expect_refusal("db info" + missing, 6,
                 "tune first, as in gemm-tune --sizes 1024,4096" + missing + "\n");
  ASSERT_EQ(run("-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db()).exit_code, 0);
  expect_refusal("export --arch sm_90" + db(), 4,
                 "tune for it first, as in gemm-tune --arch sm_90 --sizes 1024,4096" + db());
  EXPECT_EQ(run("best --arch sm_90 --sizes 64" + db()).errors,
            "gemm-tune: a size has no tuned kernel that fits: tune first, as in gemm-tune --arch "
            "sm_90 --sizes 64" +
                db() + "\n");
  EXPECT_EQ(run("best -q --arch sm_90 --sizes 64" + db()).errors, "");
}

TEST_F(CliInputTest, ALongValueIsQuotedInPart) {
  const std::string digits(50'000, '9');
  for (const char* option : {"--seed", "--target", "--strategy", "--budget"}) {
    const ProgramRun refused =
        run("--arch sm_86 --sizes 64 --dry-run" + db() + " " + option + " " + digits);
    EXPECT_EQ(refused.exit_code, 2) << option;
    EXPECT_LT(refused.errors.size(), 500u) << option;
  }
}

TEST_F(CliInputTest, AKernelFolderThatLacksATextIsAUsageErrorOfEveryCommand) {
  for (const std::string command : {"", "explain ", "ladder "}) {
    expect_refusal(command + "--arch sm_86 --sizes 64 --kernel-dir /nowhere" + db(), 2,
                   "kernel text '/nowhere/kernel_templates/naive/kernel.cuh' cannot be read");
  }
}

TEST_F(CliInputTest, AKernelTextThatIncludesAFileWithoutAUtf8NameIsRefusedBeforeAnythingIsTried) {
  std::filesystem::copy(GT_KERNEL_TEMPLATES, path("kernel_templates"),
                        std::filesystem::copy_options::recursive);
  const std::string naive = path("kernel_templates/naive/kernel.cuh");
  write_file(naive, read_file(naive) + "#include \"kernel_templates/a\xff.cuh\"\n");
  write_file(path("kernel_templates/a\xff.cuh"), "// text\n");
  expect_refusal("--arch sm_86 --sizes 64 --config " + std::string(kNaive) + " --kernel-dir " +
                     folder_.string() + " --db " + path("none.db"),
                 2, "a\\xff.cuh' has a name that is not UTF-8: rename it");
  EXPECT_FALSE(std::filesystem::exists(path("none.db")));
}

TEST_F(CliInputTest, AFamilyOfAUserThatIsNoneIsRefusedByEveryCommandThatReadsADatabase) {
  for (const std::string command : {"", "best ", "explain ", "export ", "bench ", "ladder "}) {
    expect_refusal(command + "--arch sm_86 --sizes 64 --family /none.so" + db(), 2,
                   "family plug-in '/none.so' cannot be read");
  }
  for (const std::string command : {"report", "db info", "db prune --stale"}) {
    expect_refusal(command + " --family /none.so" + db(), 2, "family plug-in '/none.so' cannot");
  }
  for (const std::string command : {"db merge a.db b.db", "db diff a.db b.db"}) {
    expect_refusal(command + " --family /none.so", 2, "family plug-in '/none.so' cannot be read");
  }
}

TEST_F(CliInputTest, HelpNamesTheTypesThatBuiltInFamiliesServeAndTheOthersApart) {
  EXPECT_THAT(
      unbroken(run("best --help-all").output),
      HasSubstr("Element type: f32, f16, bf16; or those of A, B, C and D, as in "
                "bf16/bf16/f32/f32 or f32/bf16/f32/f32, A and B also of e4m3 (by a family of "
                "yours also e5m2, s8, s32)"));
}

TEST_F(CliInputTest, ASearchIsLimitedToConfigsOrToFamilies) {
  const std::string start = "--arch sm_86 --sizes 64 --dry-run" + db() + " --config ";
  expect_refusal(start + "wobble", 2, "'wobble' is no family of kernels and no config: use one of");
  expect_refusal(start + "naive --config " + kNaive, 2,
                 "--config names both configs and a family, 'naive': name either");
  expect_refusal(start + "cublaslt", 2, "cublaslt");
  const ProgramRun all = run(start + "naive --config smem_tiled"), one = run(start + "naive");
  EXPECT_EQ(all.exit_code, 0) << all.errors;
  EXPECT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_THAT(one.output, HasSubstr(": 36 enumerated"));
  EXPECT_THAT(all.output, HasSubstr(": 144 enumerated"));
}

// The text that was read, its hash and the text compiled are one.
TEST_F(CliInputTest, AKernelFolderIsReadOnceForAWholeRun) {
  std::filesystem::copy(GT_KERNEL_TEMPLATES, path("kernel_templates"),
                        std::filesystem::copy_options::recursive);
  const std::string naive = path("kernel_templates/naive/kernel.cuh");
  write_file(naive, read_file(naive) + "#define EDITED 1\n");
  const std::string edited = kernel_source(*find_family("naive"), folder_).revision;
  TuneOptions options;
  options.sizes = "64";
  options.configs = {kNaive};
  options.kernel_dir = folder_.string();
  Target target;
  target.spec = find_device_spec("sm_86").value();
  TuneRequest request = tune_request(options, target, {asked_problems(options), {}});
  request.worker = {std::getenv("GT_PROGRAM"), kWorkerArgument};
  std::filesystem::remove_all(path("kernel_templates"));
  Database database(path("t.db"), Database::Mode::create_or_open);
  begin_run(database, request, target, "test");
  const TuneReport report = tune(request, database, [](const Progress&) {});
  EXPECT_TRUE(report.problems.at(0).winner);
  const std::vector<Record> rows =
      database.records(device_key(target.spec), packed_problem(64, 64, 64));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].revision, edited);
  EXPECT_EQ(rows[0].outcome.disposition, Disposition::ok);
}

TEST_F(CliInputTest, ALimitOfTheSystemIsNoDefectOfTheProgram) {
  const std::string start = "--arch sm_86 --sizes 64 --config " + std::string(kNaive) + db();
  for (int files = 4; files < 16; ++files) {
    // A shell under this limit could not redirect the program's errors.
    const ProgramRun run_there = run(start, "prlimit --nofile=" + std::to_string(files) + " env");
    EXPECT_NE(run_there.exit_code, 1) << files << ": " << run_there.errors;
    EXPECT_NE(run_there.exit_code, 2) << files << ": " << run_there.errors;
    EXPECT_THAT(run_there.errors, Not(HasSubstr("was deleted"))) << files;
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these reserve terabytes
  for (int megabytes = 90; megabytes < 150; megabytes += 3) {
    const ProgramRun run_there =
        run("db info" + db(), "ulimit -v " + std::to_string(1024 * megabytes) + ";");
    EXPECT_NE(run_there.exit_code, 1) << megabytes << ": " << run_there.errors;
  }
#endif
}

TEST_F(CliInputTest, NoOptionTakesAnEmptyText) {
  const std::string start = "--arch sm_86 --sizes 64 --dry-run" + db() + " ";
  for (const char* option :
       {"--arch", "--device", "--db", "--sm-count", "--layout", "--batch", "--sizes", "--jobs",
        "--seed", "--kernel-dir", "--family", "--devices", "--strategy", "--budget", "--target",
        "--time", "--config", "--baselines"}) {
    for (const char* command : {"", "tune "}) {
      expect_refusal(std::string(command) + "--dry-run " + option + " ''", 2,
                     std::string(option) + ": its value is empty");
    }
  }
  for (const std::string& command :
       {std::string("best --arch sm_86 --sizes ''"),
        std::string("explain --arch sm_86 --sizes 64 ''"),
        std::string("explain --arch sm_86 --sizes 64 --cubin ''"),
        std::string("ladder --arch sm_86 --sizes 64 --kernel-dir ''"),
        std::string("export --arch ''"), std::string("export --arch sm_86 -o ''"),
        std::string("db info --db ''"), std::string("db check --db ''")}) {
    expect_refusal(command, 2, "its value is empty: write one, or leave the option out");
  }
}

TEST_F(CliInputTest, ANameOutsideItsListIsRefusedWithTheList) {
  const std::string start = "--arch sm_86 --sizes 64 --dry-run" + db() + " ";
  expect_refusal(start + "--strategy best", 2,
                 "--strategy: 'best' is none of: model, random, exhaustive");
  expect_refusal(start + "--baselines cublas,mkl", 2,
                 "--baselines: 'mkl' is none of: cublas, cublaslt, cublas-autotuned");
  expect_refusal("export --arch sm_86 --format c", 2, "--format: 'c' is none of: header");
  for (const char* option : {"--strategy ''", "--baselines ''"}) {
    expect_refusal(start + option, 2, "its value is empty: write one, or leave the option out");
  }
}

TEST_F(CliInputTest, AnOptionBeforeACommandIsTheCommandsOrRefused) {
  ASSERT_EQ(run("-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db()).exit_code, 0);
  const ProgramRun behind = run("best --json --arch sm_86 --sizes 64" + db());
  ASSERT_EQ(behind.exit_code, 0) << behind.errors;
  EXPECT_EQ(run("--json --arch sm_86 --sizes 64" + db() + " best").output, behind.output);
  EXPECT_EQ(run("--json --arch sm_86 best --sizes 64" + db()).output, behind.output);
  const ProgramRun info = run("-q" + db() + " --json db info");
  ASSERT_EQ(info.exit_code, 0) << info.errors;
  EXPECT_EQ(nlohmann::json::parse(info.output).at("rows"), 1);
  EXPECT_EQ(run("--dry-run --arch sm_86 tune --sizes 64 --config " + std::string(kNaive) + db())
                .exit_code,
            0);
  EXPECT_THAT(
      run("--dry-run tune --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db()).output,
      HasSubstr("nothing was compiled"));

  expect_refusal("--dry-run best --arch sm_86 --sizes 64" + db(), 2,
                 "--dry-run is no option of 'best', before which it stands: leave it out");
  expect_refusal("--retry-failed db info" + db(), 2, "--retry-failed is no option of 'db info'");
  expect_refusal("--arch sm_86 best --arch sm_90 --sizes 64" + db(), 2, "--arch");
  expect_refusal("--device 0 tune --devices 0 --sizes 64" + db(), 2, "--device excludes --devices");
  EXPECT_EQ(run("--version best").output, run("--version").output);
}

TEST_F(CliInputTest, AThreadThatCannotBeStartedIsNoDefectOfTheProgram) {
  // A stack larger than all memory allowed.
  expect_refusal("--arch sm_86 --sizes 64 --dry-run" + db(), 3,
                 "the system starts no further thread (Resource temporarily unavailable): raise",
                 "ulimit -s 4000000 && ulimit -v 2000000 &&");
}

TEST_F(CliInputTest, TheWorkersOwnCommandIsRefusedToPeople) {
  for (const char* arguments : {"", " x", " x y z", " compile 0 z", " compile '' 1"}) {
    for (const char* descriptor : {"", " 3</dev/null"}) {
      expect_refusal(std::string("worker") + arguments + descriptor, 2,
                     "'gemm-tune worker' serves the program itself: it is not for people");
    }
  }
}

TEST_F(CliInputTest, AListOfConfigsThatListsNoneIsRefusedByName) {
  const std::string start = "--arch sm_86 --sizes 64" + db() + " --config @";
  write_file(path("empty.txt"), "");
  write_file(path("comments.txt"), "# nothing\n\n   \n\t# here\r\n");
  for (const std::string name : {"empty.txt", "comments.txt"}) {
    expect_refusal(start + path(name), 2,
                   "config file '" + path(name) + "' holds no config: write one on each line");
  }
  expect_refusal(start + path("missing"), 2,
                 "config file '" + path("missing") + "' cannot be read");
  EXPECT_FALSE(std::filesystem::exists(path("t.db")));

  write_file(path("one.txt"), std::string("# one\r\n  ") + kNaive + "  # the first\r\n\r\n");
  const ProgramRun one = run("-q --json " + start + path("one.txt"));
  ASSERT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_THAT(one.output, HasSubstr(kNaive));
}

TEST_F(CliInputTest, JsonIsJsonOrRefused) {
  const ProgramRun dry =
      run("--arch sm_86 --sizes 64,96 --budget 3 --dry-run --json" + db() + kOneFamily);
  ASSERT_EQ(dry.exit_code, 0) << dry.errors;
  const auto plan = nlohmann::json::parse(dry.output);
  EXPECT_EQ(plan.at("problems").at(1).at("problem"), "96x96x96");
  EXPECT_EQ(plan.at("problems").at(0).at("would_be_tried"), 3);
  EXPECT_EQ(plan.at("source"), "predicted");

  const std::string tune = "-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db();
  ASSERT_EQ(run(tune).exit_code, 0);
  const ProgramRun explain =
      run("explain --json --arch sm_86 --sizes 64,65 " + std::string(kNaive) + db());
  ASSERT_EQ(explain.exit_code, 0) << explain.errors;
  const auto known = nlohmann::json::parse(explain.output);
  EXPECT_EQ(known.at(0).at("config"), kNaive);
  EXPECT_EQ(known.at(0).at("cta").at("threads"), 256);
  EXPECT_GT(known.at(0).at("resources").at("registers"), 0);
  EXPECT_GT(known.at(0).at("model").at("time_us"), 0.0);
  EXPECT_EQ(known.at(0).at("rows").at(0).at("disposition"), "ok");
  EXPECT_EQ(known.at(1).at("legal_specialisation"), "naive/BM=16,BN=16,COALESCED=1,PRED=1");
  EXPECT_FALSE(known.at(1).contains("model"));

  expect_refusal("export --json --arch sm_86" + db(), 2, "no JSON: leave out --json, or");
  expect_refusal("--json export --arch sm_86" + db(), 2, "no JSON: leave out --json, or");
  expect_refusal("db check --json" + db(), 2, "--json");
}

TEST_F(CliInputTest, APathThatIsNotUtf8IsShownWithReplacements) {
  const std::string file = path("t\xff.db"), shown = path("t\xef\xbf\xbd.db");
  const std::string problem = " --arch sm_86 --sizes 64 --db " + file;
  const ProgramRun tune = run("-q --json --config " + std::string(kNaive) + problem);
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_EQ(nlohmann::json::parse(tune.output).at("database"), shown);
  EXPECT_EQ(nlohmann::json::parse(run("db info --json --db " + file).output).at("database"), shown);
  EXPECT_EQ(run("best --json" + problem).exit_code, 0);

  // Messages quote these.
  std::filesystem::create_directory(path("d\xff"));
  const std::string start =
      "-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + " --db " + path("u.db");
  expect_refusal(start + " --kernel-dir " + path("d\xff"), 2, "is not UTF-8");
  expect_refusal(start, 2, "is not UTF-8", "TMPDIR=" + path("d\xff"));
}

TEST_F(CliInputTest, AFolderThatIsMissingIsNamed) {
  const std::string tune = "-q --arch sm_86 --sizes 64 --config " + std::string(kNaive);
  const std::string explain = "explain --arch sm_86 --sizes 64 " + std::string(kNaive) + db();
  expect_refusal(tune + db(), 2,
                 "'" + path("nowhere") +
                     "' cannot hold temporary files (No such file or "
                     "directory): set TMPDIR to a folder with room",
                 "TMPDIR=" + path("nowhere"));
  expect_refusal(tune + db(), 2, "'/proc' cannot hold temporary files", "TMPDIR=/proc");
  EXPECT_EQ(run(explain, "TMPDIR=" + path("nowhere")).exit_code, 0);  // which needs none
  expect_refusal(tune + db() + " --kernel-cache " + path("file"), 2,
                 "'" + path("file") + "' cannot serve as kernel cache: it is no directory",
                 "touch " + path("file") + " &&");

  const std::string gone =
      "mkdir " + path("gone") + " && cd " + path("gone") + " && rmdir " + path("gone") + " &&";
  const std::string sentence =
      "cannot be found from the working directory (No such file or "
      "directory): give its absolute path";
  for (const char* command : {"-q --arch sm_86 --sizes 64", "best --arch sm_86 --sizes 64",
                              "export --arch sm_86", "db info", "db check"}) {
    expect_refusal(std::string(command) + " --db t.db", 6, "database 't.db' " + sentence, gone);
  }
  const std::string naive = " --config " + std::string(kNaive);
  EXPECT_EQ(run("-q --arch sm_86 --sizes 64" + naive + db(), gone).exit_code, 0);
  expect_refusal("export --arch sm_86 -o h" + db(), 2, "'h' cannot be written", gone);
}

TEST_F(CliInputTest, NothingStoredForAnArchIsNotAUsageError) {
  ASSERT_EQ(run("-q --arch sm_86 --sizes 64 --config " + std::string(kNaive) + db()).exit_code, 0);
  EXPECT_EQ(run("best --arch sm_90 --sizes 64" + db()).exit_code, 4);
  expect_refusal("export --arch sm_90" + db(), 4, "has no usable winner for sm_90");
  for (const char* command : {"best --sizes 64", "export"}) {
    for (const char* arch : {"sm_999", "'sm_86 {}; int evil'", "sm_", "86"}) {
      expect_refusal(std::string(command) + " --arch " + arch + db(), 2,
                     "is not a target that can be tuned here");
    }
  }
}

}  // namespace
}  // namespace gemm_tune
