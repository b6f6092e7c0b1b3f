// SPDX-License-Identifier: Apache-2.0
// The files of released versions: what they hold is read, listed and served by the program and the
// library of today, and rows of kernels that have changed since are stale, not lost.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gemm_tune/gemm_tune.h>

#include <cstddef>
#include <nlohmann/json.hpp>

#include "cli/capture/called_problems.h"
#include "db/validity/validity.h"
#include "dispatch/refined_choices.h"
#include "kernel_templates/device/call/gemm_args.cuh"
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kWhole = "naive/BM=16,BN=16,COALESCED=1,PRED=0";
constexpr const char* kEveryEdge = "naive/BM=16,BN=16,COALESCED=1,PRED=1";
constexpr int kRows = 15;
const DeviceKey kA6000{"sm_86", "NVIDIA RTX A6000", 84},
    kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};

// What kernels of released bundles read, where they read it.
static_assert(offsetof(GemmArgs, M) == 0 && offsetof(GemmArgs, N) == 4 &&
              offsetof(GemmArgs, K) == 8 && offsetof(GemmArgs, piece_k) == 12 &&
              offsetof(GemmArgs, alpha) == 16 && offsetof(GemmArgs, beta) == 20 &&
              offsetof(GemmArgs, A) == 24 && offsetof(GemmArgs, B) == 32 &&
              offsetof(GemmArgs, D) == 40 && offsetof(GemmArgs, lda) == 48 &&
              offsetof(GemmArgs, ldb) == 56 && offsetof(GemmArgs, ldc) == 64 &&
              offsetof(GemmArgs, stride_a) == 72 && offsetof(GemmArgs, stride_b) == 80 &&
              offsetof(GemmArgs, stride_c) == 88 && offsetof(GemmArgs, counters) == 96 &&
              offsetof(GemmArgs, partials) == 104);

class ReleasedTest : public CliTest {
 protected:
  ReleasedTest() { fs::copy(folder_of_release_ / "winners.db", file_); }

  std::string released(const std::string& name) const {
    return (folder_of_release_ / name).string();
  }
  json released_rows() const { return json::parse(read_file(released("rows.json"))); }

  // Those by which the file's own view of winners chooses.
  KernelRevisions revisions_of_the_release() const {
    const SQLite::Database db(file_.string());
    SQLite::Statement rows(db, "SELECT name, revision FROM families");
    KernelRevisions revisions;
    while (rows.executeStep())
      revisions[rows.getColumn(0).getString()] = rows.getColumn(1).getString();
    return revisions;
  }
  bool has_changed(const std::string& family) const {
    return revisions_of_the_release().at(family) != current_revisions().at(family);
  }

  const fs::path folder_of_release_ = GT_RELEASED_FILES;
  const fs::path file_ = folder_ / "winners.db";
};

std::vector<std::string> winners(const Database& database, const char* arch,
                                 const KernelRevisions& revisions) {
  std::vector<std::string> texts;
  for (const Record& row : database.winners(arch, revisions)) {
    std::ostringstream text;
    text << to_string(row.problem) << ' ' << row.config << ' ' << row.outcome.time_us().value();
    if (row.baseline) text << ' ' << row.baseline->title() << ' ' << row.baseline->timing.median_us;
    texts.push_back(text.str());
  }
  return texts;
}

TEST_F(ReleasedTest, TheWinnersOfADatabaseAreThoseThatItsKernelsMake) {
  const Database database(file_, Database::Mode::read_only);
  const std::string vectorized =
      "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";
  EXPECT_THAT(
      winners(database, "sm_86", revisions_of_the_release()),
      UnorderedElementsAre("64x64x64 " + std::string(kWhole) + " 5 cublasLt 13.1.0 5.5",
                           "1024x1024x1024 " + vectorized + " 151.25 cublasSgemm 13.1.0 160",
                           "4096x4096x4096 " + vectorized + " 6543.25"));
  EXPECT_THAT(winners(database, "sm_90", revisions_of_the_release()),
              UnorderedElementsAre(
                  "64x64x64 " + std::string(kEveryEdge) + " 4",
                  "1024x1024x1024 " + std::string(kEveryEdge) + " 800",
                  "100x64x64:align=4/16/16/16:batch=4 naive/BM=8,BN=8,COALESCED=1,PRED=1 9",
                  "33x64x64:align=4/16/16/16:batch=4:pointers "
                  "skinny/CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC="
                  "1,SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,PRED=1,POINTERS=1 7",
                  "2048x768x3072:type=bf16:layout=nt:epilogue=bias_column+relu "
                  "wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,TA=0,TB=1 20",
                  "512x512x512:type=f32+fp32_f16x3:batch=8 "
                  "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=0 12"));
}

TEST_F(ReleasedTest, EveryValueOfARowIsRead) {
  const Database database(file_, Database::Mode::read_only);
  int rows = 0, failures = 0;
  database.for_each_stored([&](const Record& row, bool counts) {
    ++rows;
    EXPECT_TRUE(counts);
    EXPECT_EQ(row.run.tool_version, "0.1.0");
    EXPECT_EQ(row.run.gpu, (GpuSettings{300, 8001, ""}));
    if (row.outcome.disposition != Disposition::ok) {
      ++failures;
      EXPECT_THAT(row.outcome.detail, AnyOf("element 7 is wrong", "ptxas: out of registers"));
    }
  });
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(failures, 2);
  const Record row = database.records(kA6000, parse_problem("64x64x64")).at(0);
  EXPECT_EQ(row.outcome.resources, (Resources{116, 0, 0, 8448, 2}));
  EXPECT_EQ(row.outcome.timing->samples_us, (std::vector<double>{5, 5.5, 4.75}));
  EXPECT_EQ(row.outcome.timing->cold_us, 6);
  EXPECT_EQ(row.outcome.timing->conditions, (GpuConditions{1410, 250.5, 51}));
  EXPECT_EQ(row.outcome.ranking, (Ranking{1, 1, true, true}));
  EXPECT_EQ(row.outcome.error, 2.5e-7);
  EXPECT_EQ(row.outcome.predicted_us, 6.25);
  EXPECT_EQ(row.baseline->error, 5e-7);
}

// A row is written as it was then; later versions may say more of it.
TEST_F(ReleasedTest, ADatabaseIsExportedWithAllThatItHeld) {
  const json now = json::parse(run("export -q --format json --db " + file_.string()).output);
  for (const auto& [table, rows] : released_rows().items()) {
    if (!rows.is_array()) continue;
    ASSERT_EQ(now.at(table).size(), rows.size()) << table;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const auto& [column, value] : rows[i].items()) {
        EXPECT_EQ(now.at(table)[i].at(column), value) << table << ' ' << i << ' ' << column;
      }
    }
  }
}

TEST_F(ReleasedTest, RowsOfJsonAndCsvAndContributedWinnersAreImported) {
  for (const auto& [name, rows] :
       {std::pair("rows.json", "15 rows"), std::pair("rows.csv", "15 rows"),
        std::pair("sm_90-nvidia-h100-80gb-hbm3-132sm.json", "6 rows")}) {
    const std::string db = path(name + std::string(".db"));
    const ProgramRun import = run("db import -q " + released(name) + " --db " + db);
    EXPECT_EQ(import.exit_code, 0) << import.errors;
    EXPECT_THAT(import.output, HasSubstr(db + ": " + rows));
    EXPECT_THAT(run("db merge -q " + file_.string() + " " + db).output,
                HasSubstr(": 15 rows, 0 of them new"))
        << name;
  }
  EXPECT_THAT(
      run("db contribute --check " + released("sm_90-nvidia-h100-80gb-hbm3-132sm.json")).output,
      HasSubstr(": 6 winners of NVIDIA H100 80GB HBM3 (sm_90, 132 SMs)"));
}

TEST_F(ReleasedTest, ADatabaseIsSoundAndInfoListsEveryRowAndWhichAreStale) {
  const std::string db = " --db " + file_.string();
  EXPECT_THAT(run("db check" + db).output, HasSubstr(" is sound"));
  const json info = json::parse(run("db info --json" + db).output);
  EXPECT_EQ(info.at("rows"), kRows);
  int listed = 0, stale = 0;
  for (const json& grade : info.at("validity")) {
    listed += grade.at("rows").get<int>();
    if (grade.at("validity") == "stale") stale += grade.at("rows").get<int>();
  }
  EXPECT_EQ(listed, kRows);
  EXPECT_GE(stale, 2);  // of revision 0, and of a family that is not loaded
}

TEST_F(ReleasedTest, AProblemWhoseRowsAreStaleIsAnsweredAndTunedAgainWithoutAnError) {
  const std::string of_it = " --arch sm_86 --sizes 512 --db " + file_.string();
  const ProgramRun best = run("best --json -q" + of_it);
  EXPECT_THAT(best.exit_code, AnyOf(0, 4)) << best.errors;
  EXPECT_NE(json::parse(best.output).at(0).at("match"), "exact");
  const ProgramRun tuned = run("-q --json --config " + std::string(kWhole) + of_it);
  EXPECT_EQ(tuned.exit_code, 0) << tuned.errors;
  EXPECT_EQ(json::parse(run("best --json -q" + of_it).output).at(0).at("match"), "exact");
  EXPECT_EQ(json::parse(run("db info --json --db " + file_.string()).output).at("rows"), kRows + 1);
  const ProgramRun pruned =
      run("db prune -q --stale --db " + file_.string() + " --output " + path("new.db"));
  EXPECT_EQ(pruned.exit_code, 0) << pruned.errors;
}

TEST_F(ReleasedTest, TheLibraryServesWinnersByStructsOfTheirReleasedSizes) {
  gt_options options = GT_OPTIONS_INIT;
  options.size = 48;
  options.policy = GT_POLICY_DETERMINISTIC;
  options.database_path = file_.c_str();
  gt_handle* handle = nullptr;
  ASSERT_EQ(gt_open(&options, &handle), GT_OK) << gt_last_error();
  const auto lookup = [&](const DeviceKey& of, std::int64_t edge) {
    const gt_device device = {of.arch.c_str(), of.name.c_str(), of.sm_count};
    gt_gemm_call call = GT_GEMM_CALL_INIT;
    call.size = 256;
    call.M = call.N = call.K = edge;
    gt_recipe recipe{};
    EXPECT_EQ(gt_lookup(handle, &device, &call, &recipe), GT_OK) << gt_last_error();
    EXPECT_NE(recipe.match, GT_MATCH_NONE);
    return recipe;
  };
  EXPECT_NE(lookup(kA6000, 512).match, GT_MATCH_EXACT);
  for (const auto& [device, edge, config, us] :
       {std::tuple(kA6000, 64, kWhole, 5.0), std::tuple(kH100, 64, kEveryEdge, 4.0),
        std::tuple(kH100, 1024, kEveryEdge, 800.0)}) {
    const gt_recipe recipe = lookup(device, edge);
    if (has_changed("naive")) continue;  // stale
    EXPECT_EQ(recipe.match, GT_MATCH_EXACT);
    EXPECT_EQ(recipe.source, GT_SOURCE_MEASURED);
    EXPECT_STREQ(recipe.config, config);
    EXPECT_EQ(recipe.tuned_us, us);
  }
  gt_close(handle);
}

TEST_F(ReleasedTest, ACaptureAndAReportNameTheirProblems) {
  const ProgramRun planned =
      run("--json -q --dry-run --arch sm_86 --from-capture " + released("capture.txt"));
  EXPECT_EQ(planned.exit_code, 0) << planned.errors;
  std::vector<std::string> problems;
  const json plan = json::parse(planned.output);
  for (const json& one : plan.at("problems")) problems.push_back(one.at("problem"));
  EXPECT_THAT(problems, ElementsAre("64x96x64", "64x64x64"));
  const CalledProblems called = read_called_problems(released("report.jsonl"));
  ASSERT_EQ(called.problems.size(), 2U);
  EXPECT_EQ(called.problems[0].text, "64x64x64");
  EXPECT_EQ(called.problems[1].text, "64x96x64");
  EXPECT_EQ(called.problems[1].calls(), 1);
}

TEST_F(ReleasedTest, RefinedChoicesAnswer) {
  const RefinedChoices choices(released("refined_choices.txt"));
  EXPECT_EQ(choices.find(kH100, "1000x1000x1000"), kWhole);
  EXPECT_EQ(choices.find(kH100, "65x65x65:layout=nt separate_c"), "cublas");
}

}  // namespace
}  // namespace gemm_tune
