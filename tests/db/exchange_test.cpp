// SPDX-License-Identifier: Apache-2.0
// Databases as JSON and CSV, and back.
#include "db/transfer/exchange.h"

#include "core/error.h"
#include "db/file/check.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

class ExchangeTest : public DbTest {
 protected:
  // Every kind of row, with texts that need quoting.
  void fill() const {
    Database database(file_, Database::Mode::create_or_open);
    RunInfo run = kRun;
    run.host = "a, \"b\"";
    run.command = "gemm-tune --sizes '1\n2'\r\n\x01";
    run.gpu = {700.5, 2619, "1g.10gb"};
    database.begin_run(run);
    database.store_baseline(kA6000, k1024, {"cublasLt", "13.1.0", timing(70), {}, 8});
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(80), 2e-7});
    Outcome outcome = measured(1.0 / 3);
    outcome.timing->cold_us = 0.1 + 0.2;
    outcome.ranking->cold_rank = 1;
    outcome.timing->conditions = GpuConditions{1800, 290.25, 62};
    outcome.timing->disturbance = "another process";
    outcome.error = 1e-7 / 3;
    outcome.compile_s = 0.7;
    outcome.gpu_s = 1e-5;
    database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured);
    database.begin_run(kRun);
    store_measured(database, {"sm_90", "NVIDIA \"H100\", \xc2\xb2\n", 132}, "7x8x0", kPredicated, 3,
                   "user:0011");
    store_predicted(database, kA10, "64x64x64:align=8:batch=3", kPredicated, 20);
    database.store(kA10, k1024, kPredicated, kRevision,
                   failed(Disposition::wrong_result, "element 7,\n\"8\""), Source::measured);
    database.store(kA10, k1024, kPredicated, kRevision, measured(70), Source::measured);
  }

  std::string json(const fs::path& database, const std::optional<std::string>& arch = {}) const {
    return export_as_json(database, arch, kRevisions);
  }
  std::string csv(const fs::path& database, const std::optional<std::string>& arch = {}) const {
    return export_as_csv(database, arch, kRevisions);
  }
  MergeReport import(const std::string& text, const std::string& output = "out.db") const {
    return import_text(text, "file", path(output), kRevisions);
  }
  std::string refusal(const std::string& text) const {
    try {
      import(text);
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  void expect_round_trip(const fs::path& database) const {
    merge_databases({database}, path("copy.db"), kRevisions);
    const std::string text = json(database);
    import(text);
    EXPECT_EQ(dump_of(path("out.db"), true), dump_of(path("copy.db"), true));
    EXPECT_EQ(json(path("out.db")), text);
    EXPECT_THAT(check_database(path("out.db")), IsEmpty());
    EXPECT_EQ(import(text).added, 0);
    fs::remove(path("copy.db"));
    fs::remove(path("out.db"));
  }
};

TEST_F(ExchangeTest, JsonHoldsEveryRowAndColumn) {
  fill();
  expect_round_trip(file_);
}

TEST_F(ExchangeTest, CsvHoldsEveryRowWithItsRunButNoBaseline) {
  fill();
  const std::string text = csv(file_);
  EXPECT_EQ(import(text).added, 5);
  const auto without_lost = [](std::vector<std::string> lines) {
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("baselines|"); });
    return lines;
  };
  EXPECT_EQ(without_lost(dump_of(path("out.db"))), without_lost(dump_of(file_)));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT count(*) FROM baselines"), ElementsAre("0"));
  EXPECT_EQ(csv(path("out.db")), text);
  EXPECT_EQ(import(with(text, "\n", "\r\n")).added, 0);
}

TEST_F(ExchangeTest, ThreeHundredRowsComeBackAsTheyWere) {
  {
    Database database = writable(file_);
    database.together([&] {
      for (int i = 0; i < 300; ++i) {
        const std::string problem = std::to_string(64 + i % 30) + "x64x64";
        store_measured(database, i % 2 == 0 ? kA6000 : kA10, problem,
                       i % 3 == 0 ? kWholeTiles : kPredicated, 10 + i / 7.0, std::to_string(i % 5));
      }
    });
  }
  expect_round_trip(file_);
}

TEST_F(ExchangeTest, AnArchitectureIsExportedAlone) {
  fill();
  import(json(file_, "sm_90"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT arch FROM devices"), ElementsAre("sm_90"));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT text FROM problems"), ElementsAre("7x8x0"));
  EXPECT_THAT(csv(file_, "sm_90"), Not(HasSubstr("sm_86")));
  EXPECT_THROW(json(file_, "sm_70"), NothingFound);
}

TEST_F(ExchangeTest, AnImportIsMergedIntoWhatIsThere) {
  fill();
  store_measured(*std::make_unique<Database>(writable(path("out.db"))), kA6000, "8x8x8",
                 kPredicated, 5);
  const MergeReport report = import(json(file_));
  EXPECT_EQ(report.rows, 6);
  EXPECT_EQ(report.added, 5);
}

TEST_F(ExchangeTest, ExportsAsCsvThatWereJoinedAreReadAsOne) {
  {
    Database first = writable(file_), second = writable(path("second.db"));
    store_measured(first, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(second, kA10, "8x8x8", kPredicated, 5);
  }
  EXPECT_EQ(import(csv(file_) + csv(path("second.db"))).added, 2);
}

TEST_F(ExchangeTest, AMalformedJsonIsRefusedByRowAndField) {
  fill();
  const std::string good = json(file_);
  const struct {
    std::string from, to, sentence;
  } kFaults[] = {
      {"\"median_us\":80.0", "\"median_us\":-80.0",
       "baselines row 2: CHECK constraint failed: median"},
      {"\"median_us\":80.0", "\"median_us\":NaN", "is not JSON from byte "},
      {"\"median_us\":80.0", "\"median_us\":1e999", "holds a number that is too large at byte "},
      {"\"median_us\":80.0", "\"median_us\":\"80\"",
       "baselines row 2: its median_us is not a number"},
      {"\"median_us\":80.0", "\"median_us\":true", "its median_us is not what an export has there"},
      {"\"median_us\":80.0", "\"median_us\":[80]", "its median_us is not what an export has there"},
      {"\"median_us\":80.0", "\"median_us\":81.0", "is not the median of its samples"},
      {"\"median_us\":80.0", "\"median\":80.0", "baselines row 2: its median is no column"},
      {"[80.0,80.5,79.75]", "[80.0,-1,79.75]", "its sample is not a time above 0"},
      {"\"registers\":116", "\"registers\":-1", "CHECK constraint failed: registers >= 0"},
      {"\"registers\":116", "\"registers\":1.5", "its registers is not a whole number"},
      {"\"registers\":116", "\"registers\":99999999999999999999", "its registers is"},
      {"\"candidate_id\":1", "\"candidate_id\":77",
       "refers to a row of candidates that does not exist"},
      {"\"M\":64", "\"M\":65", "its text and its numbers differ"},
      {"\"sm_86\"", "\"sm_\\u001b[31m\"", "CHECK constraint failed"},
      {"\"disposition\":\"ok\"", "\"disposition\":\"fine\"",
       "CHECK constraint failed: disposition IN ( 'ok', 'rejected', 'compile_failed', "},
      {"\"registers\":116,", "", "CHECK constraint failed: (registers IS NULL) = (ctas_per_sm IS"},
      {"gemm-tune rows", "rows", "is no JSON of `gemm-tune export --format json`"},
      {"\"schema\": 1", "\"schema\": 4", "was written by another version of gemm-tune (schema 4"},
      {"\"devices\": [", "\"gadgets\": [", "'gadgets' is not what an export has there"},
  };
  for (const auto& [from, to, sentence] : kFaults) {
    const std::string refused = refusal(with(good, from, to));
    EXPECT_THAT(refused, AllOf(StartsWith("'file'"), HasSubstr(sentence))) << to;
    EXPECT_EQ(refused.find('\n'), refused.npos) << to;
  }
  EXPECT_THAT(refusal(with(good, "\"another process\"", '"' + std::string(17'000'000, 'x') + '"')),
              AllOf(HasSubstr("measurements row "), HasSubstr("its disturbance: ")));
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)), HasSubstr("is not JSON from byte"));
  EXPECT_THAT(refusal("[[[[" + std::string(100'000, '[')), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal("{\"devices\": [[[["), HasSubstr("is not what an export has there"));
  EXPECT_FALSE(fs::exists(path("out.db")));
}

TEST_F(ExchangeTest, AMalformedCsvIsRefusedByRowAndField) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kA10, "8x8x8", kPredicated, 5);
  }
  const std::string good = csv(file_);
  const struct {
    std::string from, to, sentence;
  } kFaults[] = {
      {",60.0,", ",-60.0,", "row 2: CHECK constraint failed: median_us > 0"},
      {",60.0,", ",nan,", "row 2: its median_us 'nan' is not a number"},
      {",60.0,", ",inf,", "row 2: its median_us 'inf' is not a number"},
      {",60.0,", ",1e999,", "row 2: its median_us '1e999' is not a number"},
      {",60.0,", ",\"6\x1b[0m\",", "row 2: its median_us "},
      {",5.0,", ",5.5,", "row 3: its median_us is not the median of its samples"},
      {",84,", ",,", "row 2: its sm_count '' is not a number"},
      {",84,", ",0,", "row 2: CHECK constraint failed: sm_count >= 1"},
      {",8x8x8,", ",8x8,", "row 3: its problem: "},
      {",8x8x8,", ",8x8x8:batch=1,", "row 3: its problem '8x8x8:batch=1' is written as"},
      {",measured,", ",guessed,", "row 2: CHECK constraint failed: source"},
      {"arch,device", "device,device", "its column 'device' is there twice"},
      {"arch,device", "arch,gadget", "'gadget' is no column of"},
      {"sm_86,", "sm_86,,", "row 2 has 43 fields, the header 42"},
      {"sm_86,", "\"sm_86,", "row 2: "},
      {"sm_86,", "\"sm_86\"x,", "row 2: text stands behind a closing quote"},
      {"sm_86,", "s\"m_86,", "row 2: a quote stands within a field"},
  };
  for (const auto& [from, to, sentence] : kFaults) {
    EXPECT_THAT(refusal(with(good, from, to)), AllOf(StartsWith("'file'"), HasSubstr(sentence)))
        << to;
  }
  EXPECT_THAT(refusal(with(good, ",60.0,", ",60.0," + std::string(17'000'000, 'x'))),
              HasSubstr("row 2: "));
  EXPECT_THAT(refusal("arch,device\n"), HasSubstr("its column 'sm_count' is missing"));
  EXPECT_THAT(refusal(""), HasSubstr("its column 'arch' is missing"));
  EXPECT_THAT(refusal("no export\n"), HasSubstr("'no export' is no column of"));
  EXPECT_FALSE(fs::exists(path("out.db")));
}

}  // namespace
}  // namespace gemm_tune
