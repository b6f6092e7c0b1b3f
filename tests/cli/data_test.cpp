// SPDX-License-Identifier: Apache-2.0
// Data that travels from one database to another: the commands' output, messages and exit codes.
#include <nlohmann/json.hpp>

#include "db/database.h"
#include "db/validity/validity.h"
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

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

// Names are stored as drivers and files have them; JSON, CSV and C++ escape them their own way.
TEST_F(CliDataTest, ADeviceNameWithLineEndsAndControlBytesStandsOnOneLineOfEveryOutput) {
  const auto with_name = [&](const std::string& file, const Outcome& outcome) {
    Database database(path(file), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    database.store({"sm_86", "evil\nGPU 2\x1b[31m\r", 72}, parse_problem("64x64x64"), kNaive,
                   current_revisions().at("naive"), outcome, Source::measured);
    return path(file);
  };
  const std::string a = with_name("a.db", timed(10)), b = with_name("b.db", wrong());
  const std::string db = " --db " + a, here = " --arch sm_86 --sizes 64" + db;
  const auto run_shown = [&](const std::string& command) {
    const ProgramRun ran = run(command);
    const std::string shown = ran.output + ran.errors;
    EXPECT_THAT(shown, Not(HasSubstr("evil\n"))) << command;
    EXPECT_THAT(shown, Not(HasSubstr("\x1b"))) << command;
    EXPECT_THAT(shown, Not(HasSubstr("\r"))) << command;
    return ran;
  };
  const std::string name = "evil\\nGPU 2\\x1b[31m\\x0d";
  for (const std::string& command :
       {"db info" + db, "db diff " + b + " " + a, "db merge " + out_ + " " + a + " " + b,
        "best" + here, "best --sizes 64" + db, "best --sizes 65" + db, "explain --sizes 64" + db}) {
    const ProgramRun ran = run_shown(command);
    EXPECT_EQ(ran.exit_code, 0) << command << ran.errors;
    EXPECT_THAT(unbroken(ran.output + ran.errors), HasSubstr(name)) << command;
  }
  for (const std::string& command :
       {"db check" + db, "db prune --stale" + db, "db contribute -o " + path("to") + db,
        "report -o -" + db, "export --arch sm_86" + db, "best --json" + here,
        "export --format json" + db, "explain --json" + here,
        "--dry-run --budget 1" + here + kOneFamily,
        "--dry-run --json --budget 1" + here + kOneFamily, "--budget 1 --why" + here + kOneFamily,
        "export --format t4 --sizes 64 --arch sm_86" + db}) {
    run_shown(command);
  }
}

// As --db does: only the default folder is made.
TEST_F(CliDataTest, AFolderThatTheEnvironmentNamesMustExist) {
  const std::string command = std::string("sh -c 'GEMM_TUNE_DB=") + path("no/such.db") + " exec " +
                              std::getenv("GT_PROGRAM") + " \"$@\"' -";
  const ProgramRun tune =
      run_program(command, "--arch sm_86 --sizes 64 --config " + std::string(kNaive));
  EXPECT_EQ(tune.exit_code, 6) << tune.errors;
  EXPECT_THAT(tune.errors, HasSubstr("no/such.db"));
  write_file(path("rows.csv"), "");
  EXPECT_NE(run_program(command, "db import " + path("rows.csv")).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("no")));
}

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
  for (const std::string& databases : {a, a + " " + a + " " + a}) {
    expect_refusal("db diff -q " + databases, 2,
                   "databases: name two, as in gemm-tune db diff A B");
  }
  expect_refusal("db diff -q " + a + " " + path("none"), 6, "does not exist");
}

TEST_F(CliDataTest, PruneSaysWhichRowsItWouldLeaveOutAndWritesOnlyANewFile) {
  const std::string db = " --db " + database("a.db", wrong());
  const ProgramRun asked = run("db prune -q --failures" + db);
  EXPECT_EQ(asked.exit_code, 0) << asked.errors;
  EXPECT_EQ(asked.output,
            "of failed candidates: 1 row\n"
            "1 row left out, 0 kept; nothing is written without --output NEW\n");
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_THAT(run("db prune -q --stale" + db + " --output " + out_).output,
              HasSubstr("stale: the kernel has changed since: 1 row\n1 row left out, 0 "
                        "kept in " +
                        out_));
  expect_refusal("db prune -q --stale" + db + " --output " + out_, 6, "exists already");
  expect_refusal("db prune -q" + db, 2, "--stale, --failures, or --of");
  expect_refusal("db prune -q --of sm_70" + db, 2, "'sm_70' is no device or architecture");
}

TEST_F(CliDataTest, ExportedRowsComeBackByImport) {
  const std::string db = " --db " + database("a.db", timed(10));
  for (const char* format : {"json", "csv"}) {
    const std::string file = path(format), back = path(format + std::string(".db"));
    EXPECT_EQ(run("export -q --format " + std::string(format) + db + " -o " + file).exit_code, 0);
    const ProgramRun import = run("db import -q " + file + " --db " + back);
    EXPECT_EQ(import.exit_code, 0) << import.errors;
    EXPECT_EQ(import.output, back + ": 1 row, 1 of them new\n");
    EXPECT_EQ(run("export -q --format " + std::string(format) + " --db " + back).output,
              read_file(file));
    EXPECT_THAT(run("db diff -q " + path("a.db") + " " + back).output,
                HasSubstr("rows of b that a has not: 0\n"));
  }
  write_file(path("bad"), "arch,device\nsm_86");
  expect_refusal("db import -q " + path("bad") + " --db " + out_, 2, "'sm_count' is missing");
  expect_refusal("db import -q /dev/zero --db " + out_, 2, "is neither a regular file");
  expect_refusal("export --format json --arch sm_70" + db + " -q", 4, "has no row of sm_70");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(CliDataTest, ContributeWritesAFileForEachDeviceThatItsCheckTakes) {
  {
    Database database(path("a.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    Outcome outcome = timed(10);
    outcome.ranking = Ranking{1, {}, true, true};
    for (const char* name : {"NVIDIA A10", "NVIDIA RTX A6000"}) {
      database.store({"sm_86", name, 72}, parse_problem("64x64x64"), kNaive,
                     current_revisions().at("naive"), outcome, Source::measured);
    }
  }
  const std::string folder = path("winners"), db = " --db " + path("a.db");
  expect_refusal("db contribute -q" + db, 2, "name their folder in -o");
  expect_refusal("db contribute -q -o " + folder + " --arch sm_90" + db, 4, "no winner of finals");
  EXPECT_FALSE(std::filesystem::exists(folder));
  const ProgramRun contribute = run("db contribute -q -o " + folder + db);
  EXPECT_EQ(contribute.exit_code, 0) << contribute.errors;
  const std::string a10 = folder + "/sm_86-nvidia-a10-72sm.json",
                    a6000 = folder + "/sm_86-nvidia-rtx-a6000-72sm.json";
  EXPECT_EQ(contribute.output, a10 + ": 1 winner of NVIDIA A10 (sm_86, 72 SMs)\n" + a6000 +
                                   ": 1 winner of NVIDIA RTX A6000 (sm_86, 72 SMs)\n");
  const ProgramRun check = run("db contribute --check " + a10 + " " + a6000);
  EXPECT_EQ(check.exit_code, 0) << check.errors;
  EXPECT_THAT(check.output, HasSubstr("(sm_86, 72 SMs), all by today's kernels\n"));
  EXPECT_EQ(run("db import -q " + a10 + " --db " + out_).exit_code, 0);
  EXPECT_THAT(run("best -q --arch sm_86 --sm-count 72 --sizes 64 --db " + out_).output,
              HasSubstr(kNaive));
  write_file(a10, read_file(a10) + " ");
  expect_refusal("db contribute --check " + a10, 2,
                 "is not as `gemm-tune db contribute` writes it from line");
  expect_refusal("db contribute --check " + a10 + " -o " + folder, 2, "--check");
}

// As only a database has that another program wrote: a row of a weaker accuracy class.
TEST_F(CliDataTest, BestAndExplainLeaveOutARowThatMayNotServeItsProblem) {
  const std::string of_tf32 =
      "mma/AB=0,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=4,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1,ACCURACY=2";
  {
    Database database(path("a.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    const auto store = [&](const std::string& config, double us) {
      Outcome outcome = timed(us);
      outcome.ranking = Ranking{1, {}, true, true};
      const std::string family = config.substr(0, config.find('/'));
      database.store({"sm_86", "NVIDIA A10", 72}, parse_problem("64x64x64"), config,
                     current_revisions().at(family), outcome, Source::measured);
    };
    store(kNaive, 10);
    store(of_tf32, 2);
  }
  const std::string here = " --arch sm_86 --sm-count 72 --sizes 64 --json --db " + path("a.db");
  const ProgramRun best = run("best" + here);
  EXPECT_EQ(best.exit_code, 0) << best.errors;
  const auto answer = nlohmann::json::parse(best.output).at(0);
  EXPECT_EQ(answer.at("config"), kNaive);
  EXPECT_THAT(best.output, Not(HasSubstr("mma/")));
  const ProgramRun explain = run("explain" + here);
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, Not(HasSubstr("mma/")));
}

class CliLayerTest : public CliDataTest {
 protected:
  CliLayerTest() {
    std::filesystem::create_directories(path("system/gemm-tune"));
    Outcome outcome = timed(10);
    outcome.ranking = Ranking{1, {}, true, true};
    {
      Database database(path("system/gemm-tune/new"), Database::Mode::create_or_open);
      database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
      database.store({"sm_86", "NVIDIA A10", 72}, parse_problem("64x64x64"), kNaive,
                     current_revisions().at("naive"), outcome, Source::measured);
    }
    std::filesystem::rename(path("system/gemm-tune/new"), layer_);
  }
  // The user's database, with a row of today's kernel.
  void store_own(const std::string& problem, double us) const {
    std::filesystem::create_directories(path("xdg/gemm-tune"));
    Database database(path("xdg/gemm-tune/gemm-tune.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    database.store({"sm_86", "NVIDIA A10", 72}, parse_problem(problem), kNaive,
                   current_revisions().at("naive"), timed(us), Source::measured);
  }

  // The path of another layer, whose row is of sm_86's entry in the table of devices.
  std::string layer_of_table() const {
    {
      Database database(path("system/gemm-tune/new"), Database::Mode::create_or_open);
      database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
      database.store({"sm_86", "NVIDIA RTX A6000", 84}, parse_problem("64x64x64"), kNaive,
                     current_revisions().at("naive"), timed(10), Source::measured);
    }
    std::string layer = path("system/gemm-tune/b.db");
    std::filesystem::rename(path("system/gemm-tune/new"), layer);
    return layer;
  }

  const std::string layer_ = path("system/gemm-tune/a.db"),
                    system_ = "XDG_DATA_DIRS=" + path("system");
};

TEST_F(CliLayerTest, BestAnswersFromALayerWhereTheHomeIsEmptyAndNamesIt) {
  const ProgramRun best = run("best --arch sm_86 --sm-count 72 --sizes 64", system_);
  EXPECT_EQ(best.exit_code, 0) << best.errors;
  EXPECT_THAT(best.output, AllOf(HasSubstr(kNaive), HasSubstr(", of '" + layer_ + "'")));
  const ProgramRun json = run("best --json --arch sm_86 --sm-count 72 --sizes 64", system_);
  EXPECT_EQ(nlohmann::json::parse(json.output).at(0).at("layer"), layer_);
  EXPECT_THAT(run("--version", system_).output, HasSubstr("\nlayer " + layer_ + ": 1 winner\n"));
  EXPECT_FALSE(std::filesystem::exists(path("xdg")));
  const ProgramRun other = run("best --arch sm_80 --sizes 64", system_);
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.output, HasSubstr("cuBLAS, for nothing tuned for sm_80 fits 64x64x64"));
  EXPECT_THAT(other.errors, HasSubstr("tune first, as in gemm-tune --arch sm_80 --sizes 64"));
  expect_refusal("best --arch sm_86 --sizes 64 --db " + path("none.db"), 6, "does not exist",
                 system_);
}

TEST_F(CliLayerTest, BestAnswersFromALayerWhereNothingNamesAHomeAndWhereAFolderBeginsWithSlashes) {
  const std::string command =
      "env -u HOME -u XDG_DATA_HOME -u GEMM_TUNE_DB CUDA_VISIBLE_DEVICES= XDG_DATA_DIRS=/" +
      path("system") + " " + std::getenv("GT_PROGRAM") +
      " best --arch sm_86 --sm-count 72 --sizes 64 >" + path("answer");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(read_file(path("answer")), HasSubstr(kNaive));
}

TEST_F(CliLayerTest, ExplainReadsTheLayersAndNamesThem) {
  const std::string layer = layer_of_table();
  const ProgramRun explain = run("explain --arch sm_86 --sizes 64", system_);
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output,
              AllOf(HasSubstr(kNaive), HasSubstr("\n  layer                 measured: ok, 10 us"),
                    testing::Not(HasSubstr("database"))));
  const ProgramRun json =
      run(std::string("explain --json --arch sm_86 --sizes 64 ") + kNaive, system_);
  const nlohmann::json rows = nlohmann::json::parse(json.output).at(0).at("rows");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.at(0).at("layer"), layer);
  EXPECT_THAT(run("explain --arch sm_80 --sizes 64", system_).output,
              HasSubstr("\n  layers                no row for this config"));
}

TEST_F(CliLayerTest, ExplainOfANamedConfigReadsTheLayersBelowADatabaseThatCannotBeRead) {
  layer_of_table();
  std::filesystem::create_directories(path("xdg/gemm-tune"));
  write_file(path("xdg/gemm-tune/gemm-tune.db"), "no database");
  const ProgramRun explain = run(std::string("explain --arch sm_86 --sizes 64 ") + kNaive, system_);
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, AllOf(HasSubstr("not a database: name"),
                                    HasSubstr("\n  layer                 measured: ok, 10 us")));
}

TEST_F(CliLayerTest, ExplainOfANamedConfigTellsOfALayerThatCannotBeRead) {
  write_file(layer_, "no database");
  const std::string explain = std::string("explain --arch sm_86 --sizes 64 ") + kNaive;
  const ProgramRun told = run(explain, system_);
  EXPECT_EQ(told.exit_code, 0) << told.errors;
  EXPECT_THAT(told.errors, HasSubstr("gemm-tune: left out: database '" + layer_));
  EXPECT_THAT(told.output, HasSubstr("\n  layers                no row for this config"));
}

TEST_F(CliLayerTest, ExportsHoldTheLayersWinnersBelowTheUsers) {
  const std::string header = path("out.h"), export_header = "export --arch sm_86 -o " + header;
  EXPECT_EQ(run(export_header, system_).exit_code, 0);
  EXPECT_THAT(read_file(header), AllOf(HasSubstr(kNaive), HasSubstr(" 10.000,")));
  expect_refusal("export --arch sm_80 -o " + header, 4,
                 "the layers have no usable winner for sm_80", system_);
  store_own("128x128x128", 50.5);
  EXPECT_EQ(run(export_header, system_).exit_code, 0);
  EXPECT_THAT(read_file(header), AllOf(HasSubstr(" 50.500,"), HasSubstr(" 10.000,")));
  const std::string alone = " --db " + path("xdg/gemm-tune/gemm-tune.db");
  EXPECT_EQ(run(export_header + alone, system_).exit_code, 0);
  EXPECT_THAT(read_file(header), testing::Not(HasSubstr(" 10.000,")));
  store_own("64x64x64", 20.5);
  EXPECT_EQ(run(export_header, system_).exit_code, 0);
  EXPECT_THAT(read_file(header), AllOf(HasSubstr(" 20.500,"), testing::Not(HasSubstr(" 10.000,"))));
}

TEST_F(CliLayerTest, AReportShowsTheLayersRowsOnceBesideTheUsers) {
  const std::string page = path("report.html"), report = "report -q --arch sm_86 -o " + page;
  EXPECT_EQ(run(report, system_).exit_code, 0);
  EXPECT_THAT(read_file(page), AllOf(HasSubstr(R"("database":"a.db)"), HasSubstr(R"("rows":1,)")));
  // The user's database has the layer's row too, and one more.
  store_own("32x32x32", 5);
  const std::string own = path("xdg/gemm-tune/gemm-tune.db");
  EXPECT_EQ(run("db merge -q " + own + " " + layer_).exit_code, 0);
  EXPECT_EQ(run(report, system_).exit_code, 0);
  EXPECT_THAT(read_file(page),
              AllOf(HasSubstr(R"("database":"gemm-tune.db with )"), HasSubstr(R"("rows":2,)")));
}

TEST_F(CliLayerTest, CheckReadsTheLayersWhereTheUserHasNoDatabase) {
  const ProgramRun check = run("db check -q", system_);
  EXPECT_EQ(check.exit_code, 0) << check.errors;
  EXPECT_THAT(check.output, AllOf(HasSubstr("gemm-tune.db does not exist: the layers answer alone"),
                                  HasSubstr("layer " + layer_ + ": can be read\n")));
  write_file(layer_, "no database");
  EXPECT_EQ(run("db check -q", system_).exit_code, 6);
}

TEST_F(CliLayerTest, ALayerThatCannotBeReadIsTold) {
  write_file(layer_, "no database");
  std::filesystem::create_directories(path("xdg/gemm-tune"));
  std::filesystem::copy_file(database("a.db", timed(5)), path("xdg/gemm-tune/gemm-tune.db"));
  const std::string told = layer_ + "' is not a database";
  EXPECT_THAT(run("best --arch sm_86 --sizes 64", system_).errors,
              HasSubstr("gemm-tune: left out: database '" + told));
  EXPECT_THAT(run("best -q --arch sm_86 --sizes 64", system_).errors, "");
  EXPECT_THAT(run("--version", system_).output, HasSubstr("layer " + layer_ + ": left out: "));
  const ProgramRun check = run("db check -q", system_);
  EXPECT_EQ(check.exit_code, 6);
  EXPECT_THAT(check.output, AllOf(HasSubstr("gemm-tune.db is sound\n"), HasSubstr(told)));
}

// The rules of results-schema.json 1.0.0: required fields, types and the closed list of invalidity.
void expect_t4(const nlohmann::json& file) {
  ASSERT_TRUE(file.is_object());
  EXPECT_THAT(file.at("schema_version").get<std::string>(),
              testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  ASSERT_TRUE(file.at("results").is_array());
  for (const nlohmann::json& result : file["results"]) {
    ASSERT_TRUE(result.is_object());
    EXPECT_TRUE(result.at("configuration").is_object());
    EXPECT_TRUE(result.at("correctness").is_number());
    EXPECT_THAT(
        result.at("invalidity").get<std::string>(),
        testing::AnyOf("timeout", "compile", "runtime", "correctness", "constraints", "correct"));
    ASSERT_TRUE(result.at("times").is_object());
    for (const auto& [name, value] : result["times"].items()) {
      EXPECT_TRUE(name == "runtimes" ? value.is_array() : value.is_number()) << name;
    }
    EXPECT_TRUE(result.at("timestamp").is_string());
    EXPECT_TRUE(result.at("objectives").is_array());
    ASSERT_TRUE(result.at("measurements").is_array());
    for (const nlohmann::json& one : result["measurements"]) {
      EXPECT_TRUE(one.at("name").is_string());
      EXPECT_TRUE(one.at("unit").is_string());
      EXPECT_TRUE(one.at("value").is_number() || one.at("value").is_string());
    }
  }
}

TEST_F(CliDataTest, T4ResultsFollowTheSchema) {
  const auto config = [](int tile) {
    return "naive/BM=" + std::to_string(tile) + ",BN=16,COALESCED=1,PRED=0";
  };
  {
    Database database(path("a.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.1", "tune", 1});
    const auto store = [&](int tile, const Outcome& outcome) {
      database.store({"sm_86", "NVIDIA A10", 72}, parse_problem("64x64x64"), config(tile), "00",
                     outcome, Source::measured);
    };
    Outcome full = timed(10);
    full.timing->cold_us = 12;
    full.resources = Resources{32, 0, 0, 1024, 4};
    full.error = 1e-7;
    full.compile_s = 0.5;
    store(1, full);
    int tile = 1;
    for (const Disposition disposition :
         {Disposition::rejected, Disposition::compile_failed, Disposition::launch_failed,
          Disposition::wrong_result, Disposition::timed_out, Disposition::crashed}) {
      Outcome outcome = wrong();
      outcome.disposition = disposition;
      store(tile *= 2, outcome);
    }
    Outcome predicted;
    predicted.predicted_us = 5;
    database.store({"sm_86", "NVIDIA A10", 72}, parse_problem("64x64x64"), config(128), "00",
                   predicted, Source::predicted);
  }
  const std::string arguments = "export -q --format t4 --arch sm_86 --db " + path("a.db");
  const ProgramRun exported = run(arguments + " --sizes 64");
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  const nlohmann::json file = nlohmann::json::parse(exported.output);
  expect_t4(file);
  ASSERT_EQ(file["results"].size(), 7u);
  EXPECT_EQ(file["results"][0]["configuration"],
            nlohmann::json({{"BM", 1}, {"BN", 16}, {"COALESCED", 1}, {"PRED", 0}}));
  EXPECT_EQ(file["results"][0]["times"]["runtimes"], nlohmann::json({0.01}));
  EXPECT_EQ(file["results"][0]["correctness"], 1);
  std::string reasons;
  for (const nlohmann::json& result : file["results"]) {
    reasons += result["invalidity"].get<std::string>() + " ";
  }
  EXPECT_EQ(reasons, "correct constraints compile runtime correctness timeout runtime ");
  expect_refusal(arguments, 2, "T4 results are of one problem");
  expect_refusal(arguments + " --sizes 64,128", 2, "T4 results are of one problem");
  expect_refusal(arguments + " --sizes 128", 4, "no measured row of 128x128x128");
  expect_refusal(arguments + " --sizes 64 --of skinny", 4, "by skinny");
  expect_refusal("export --sizes 64 --arch sm_86 --db " + path("a.db"), 2, "are for --format t4");
}

}  // namespace
}  // namespace gemm_tune
