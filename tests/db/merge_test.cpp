// SPDX-License-Identifier: Apache-2.0
// Several databases become one: no row is lost, doubled or changed, whatever the order.
#include "db/merge.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "core/error.h"
#include "db/check.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/killed_owner.h"
#include "tests/rounds.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MergeTest : public DbTest {
 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }

  MergeReport merge(const std::vector<fs::path>& inputs, const std::string& output = "out.db") {
    return merge_databases(inputs, path(output), kHashes);
  }

  std::string refusal(const std::vector<fs::path>& inputs, const std::string& output = "out.db") {
    try {
      merge(inputs, output);
      return "";
    } catch (const DatabaseError& error) {
      return error.what();
    }
  }

  static void change(const fs::path& file, const std::string& sql) {
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
  }

  static std::vector<std::string> winners(const fs::path& file) {
    return rows_of(file, "SELECT device, problem, config, median_us FROM winners");
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // A copy that two databases share, rows of their own, failures, finals and baselines.
  std::vector<fs::path> three_databases() const {
    {
      Database a = writable(path("a.db"));
      a.store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(80), 2e-7});
      store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
      store_measured(a, kA6000, "1024x1024x1024", kPredicated, 55);
      a.store(kA6000, parse_problem("64x64x64"), kWholeTiles, kHash,
              failed(Disposition::crashed, "of 'a'\nwith \"quotes\" and \x01"), Source::measured);
    }
    fs::copy_file(path("a.db"), path("b.db"));
    {
      Database b = writable(path("b.db"));
      b.store(kA6000, k1024, kPredicated, kHash, failed(Disposition::wrong_result, "wrong"),
              Source::measured);
      store_measured(b, kA10, "1024x1024x1024", kWholeTiles, 90);
      store_predicted(b, kA10, "512x512x512", kWholeTiles, 20);
    }
    {
      Database a = writable(path("a.db"));
      a.set_standing(kA6000, k1024, kWholeTiles, kHash, Standing::finals);
    }
    {
      Database c = writable(path("c.db"));
      c.store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(81), 2e-7});
      store_measured(c, kA6000, "1024x1024x1024", kWholeTiles, 50);
      store_measured(c, kA6000, "1024x1024x1024", kPredicated, 58);
      store_measured(c, {"sm_90", "NVIDIA \"H100\" \\ '80GB'\n\xc2\xb2|", 132}, "7x8x0",
                     kPredicated, 3, "a stale hash");
      store_measured(c, kA6000, "64x64x64", kWholeTiles, 9);
    }
    return {path("a.db"), path("b.db"), path("c.db")};
  }
};

TEST_F(MergeTest, TheOrderOfTheInputsDoesNotMatter) {
  std::vector<fs::path> inputs = three_databases();
  std::set<std::size_t> hashes;
  int order = 0;
  do {
    const std::string output = "out" + std::to_string(order++) + ".db";
    EXPECT_EQ(merge(inputs, output).rows, 10);
    std::string dump;
    for (const std::string& line : dump_of(path(output), true)) dump += line + "\n";
    hashes.insert(std::hash<std::string>()(dump));
  } while (std::next_permutation(inputs.begin(), inputs.end()));
  EXPECT_EQ(order, 6);
  EXPECT_THAT(hashes, SizeIs(1));
}

TEST_F(MergeTest, TheOrderDoesNotMatterWhereDatabasesAreAddedOneByOne) {
  std::vector<fs::path> inputs = three_databases();
  merge(inputs, "whole.db");
  const auto whole = dump_of(path("whole.db"));
  do {
    fs::remove(path("out.db"));
    for (const fs::path& input : inputs) merge({input});
    EXPECT_EQ(dump_of(path("out.db")), whole);
  } while (std::next_permutation(inputs.begin(), inputs.end()));
}

TEST_F(MergeTest, ACopyOfOneDatabaseIsThatDatabase) {
  {
    Database a(path("a.db"), Database::Mode::create_or_open);
    a.begin_run(kRun, std::vector<KernelText>{{"vectorized_2d", kHash, "its text"}});
    a.store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(80), 2e-7});
    store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
  }
  EXPECT_EQ(merge({path("a.db")}).added, 1);
  EXPECT_EQ(dump_of(path("out.db")), dump_of(path("a.db")));
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
}

TEST_F(MergeTest, ARowThatSeveralDatabasesHoldIsStoredOnceAndEveryOtherRowIsKept) {
  const std::vector<fs::path> inputs = three_databases();
  const MergeReport report = merge(inputs);
  EXPECT_EQ(report.rows, 10);
  EXPECT_EQ(report.added, 10);
  // By all that was measured and its run: each row of an input, and no other.
  const std::string rows =
      "SELECT r.uuid, r.seed, r.command, d.name, p.text, c.text, k.hash, m.disposition, m.reason, "
      "m.samples, m.recorded_at FROM measurements m JOIN runs r ON r.id = run_id "
      "JOIN devices d ON d.id = device_id JOIN problems p ON p.id = problem_id "
      "JOIN configs c ON c.id = config_id JOIN kernels k ON k.id = kernel_id ORDER BY m.id";
  std::set<std::string> expected;
  for (const fs::path& input : inputs) {
    for (const std::string& row : rows_of(input, rows)) expected.insert(row);
  }
  const std::vector<std::string> found = rows_of(path("out.db"), rows);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  EXPECT_THAT(found, SizeIs(expected.size()));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT id FROM runs"), SizeIs(4));
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
}

TEST_F(MergeTest, TheBestVerifiedMeasurementWins) {
  merge(three_databases());
  EXPECT_THAT(winners(path("out.db")),
              ElementsAre("NVIDIA A10|512x512x512|" + kWholeTiles + "|NULL",
                          "NVIDIA A10|1024x1024x1024|" + kWholeTiles + "|90.0",
                          "NVIDIA RTX A6000|64x64x64|" + kWholeTiles + "|9.0",
                          "NVIDIA RTX A6000|1024x1024x1024|" + kWholeTiles + "|50.0",
                          "NVIDIA \"H100\" \\ '80GB'\n\xc2\xb2||7x8x0|" + kPredicated + "|3.0"));
}

TEST_F(MergeTest, OutcomesThatContradictEachOtherAreListed) {
  const std::vector<fs::path> inputs = three_databases();
  const std::vector<Contradiction> found = merge(inputs).contradictions;
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].problem, "64x64x64");
  EXPECT_EQ(found[0].config, kWholeTiles);
  EXPECT_EQ(found[1].problem, "1024x1024x1024");
  EXPECT_EQ(found[1].device, kA6000);
  EXPECT_EQ(found[1].config, kPredicated);
  EXPECT_EQ(found[1].kernel_hash, kHash);
  EXPECT_EQ(found[1].disposition, Disposition::ok);
  std::vector<std::string> sides;
  for (const Contradiction::Side& side : found[1].sides) {
    sides.push_back(side.database.filename().string() + " " +
                    std::string(to_string(side.disposition)) + " " + side.reason);
  }
  EXPECT_THAT(sides, ElementsAre("a.db ok ", "b.db wrong_result wrong", "c.db ok "));
  EXPECT_EQ(found[1].sides[0].median_us, 55);
}

TEST_F(MergeTest, DatabasesThatAgreeContradictNothing) {
  store_measured(*std::make_unique<Database>(writable(path("a.db"))), kA6000, "8x8x8", kPredicated,
                 5);
  store_measured(*std::make_unique<Database>(writable(path("b.db"))), kA6000, "8x8x8", kPredicated,
                 6);
  EXPECT_THAT(merge({path("a.db"), path("b.db")}).contradictions, IsEmpty());
}

TEST_F(MergeTest, RowsThatARunStoredAtOneMomentKeepTheirOrder) {
  for (const char* first : {"a.db", "b.db"}) {
    Database database = writable(path(first));
    const bool fails_last = first == std::string("a.db");
    for (const bool fails : {!fails_last, fails_last}) {
      database.store(kA6000, k1024, kWholeTiles, kHash,
                     fails ? failed(Disposition::crashed, "why") : measured(60), Source::measured);
    }
    change(path(first), "UPDATE measurements SET recorded_at = '2026-01-01T00:00:00.000Z'");
    merge({path(first)}, first + std::string(".out"));
    EXPECT_THAT(rows_of(path(first + std::string(".out")),
                        "SELECT disposition FROM measurements WHERE counts = 1"),
                ElementsAre(fails_last ? "crashed" : "ok"));
  }
}

TEST_F(MergeTest, TheLaterStandingOfACopyIsKept) {
  const std::vector<fs::path> inputs = three_databases();
  const std::string standing =
      "SELECT standing FROM measurements WHERE median_us = 60 AND disposition = 'ok'";
  EXPECT_THAT(rows_of(inputs[0], standing), ElementsAre("finals"));
  EXPECT_THAT(rows_of(inputs[1], standing), ElementsAre("tied"));
  merge(inputs);
  EXPECT_THAT(rows_of(path("out.db"), standing), ElementsAre("finals"));
  merge({inputs[0]}, "b.db");
  EXPECT_THAT(rows_of(inputs[1], standing), ElementsAre("finals"));
}

TEST_F(MergeTest, ACopyThatWasReKeyedIsStillTheSameRow) {
  {
    Database a(path("a.db"), Database::Mode::create_or_open);
    a.begin_run(kRun, std::vector<KernelText>{{"vectorized_2d", "old", "text"}});
    store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60, "old");
    store_measured(a, kA6000, "512x512x512", kWholeTiles, 20, "old");
    store_measured(a, kA6000, "512x512x512", kPredicated, 20, "old");
  }
  fs::copy_file(path("a.db"), path("b.db"));
  {
    Database b(path("b.db"), Database::Mode::create_or_open);
    OtherKernel from = b.other_kernels(kHashes).at(0);
    for (const OtherKernel::Use& use : from.uses) {
      if (use.config == kWholeTiles) b.rekey(from, use, {"vectorized_2d", kHash, "new text"});
    }
  }
  writable(path("a.db"))
      .store(kA6000, parse_problem("8x8x8"), kWholeTiles, "old", measured(2), Source::measured);
  const std::string kernels =
      "SELECT p.text, c.text = '" + kWholeTiles +
      "', k.hash, o.hash, m.counts FROM measurements m JOIN problems p ON p.id = problem_id "
      "JOIN configs c ON c.id = config_id JOIN kernels k ON k.id = kernel_id "
      "LEFT JOIN kernels o ON o.id = measured_kernel_id ORDER BY 1, 2";
  merge({path("a.db"), path("b.db")});
  const auto expected =
      ElementsAre("1024x1024x1024|1|" + kHash + "|old|1", "512x512x512|0|old|NULL|1",
                  "512x512x512|1|" + kHash + "|old|1", "8x8x8|1|" + kHash + "|old|1");
  EXPECT_THAT(rows_of(path("out.db"), kernels), expected);
  merge({path("b.db")}, "a.db");
  EXPECT_THAT(rows_of(path("a.db"), kernels), expected);
  // For a program of the old kernel they are its own again.
  merge_databases({path("b.db")}, path("old.db"), {{"vectorized_2d", "old"}});
  EXPECT_THAT(rows_of(path("old.db"), kernels), Contains("1024x1024x1024|1|old|NULL|1"));
}

TEST_F(MergeTest, TheLaterBaselineOfARunIsKept) {
  writable(path("a.db")).store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(80)});
  fs::copy_file(path("a.db"), path("b.db"));
  change(path("b.db"),
         "UPDATE baselines SET median_us = 70, samples = '[70]', recorded_at = '2999'");
  for (const char* first : {"a.db", "b.db"}) {
    fs::remove(path("out.db"));
    merge({path(first), path("a.db"), path("b.db")});
    EXPECT_THAT(rows_of(path("out.db"), "SELECT median_us FROM baselines"), ElementsAre("70.0"));
  }
  merge({path("b.db")}, "a.db");
  EXPECT_THAT(rows_of(path("a.db"), "SELECT median_us FROM baselines"), ElementsAre("70.0"));
}

TEST_F(MergeTest, AnExistingDatabaseKeepsItsRowsAndTheirIds) {
  const std::vector<fs::path> inputs = three_databases();
  const auto before = rows_of(inputs[1], "SELECT id, run_id, config_id, samples FROM measurements");
  EXPECT_EQ(merge({inputs[0], inputs[2]}, "b.db").added, 4);
  const auto after = rows_of(inputs[1], "SELECT id, run_id, config_id, samples FROM measurements");
  for (const std::string& row : before) EXPECT_THAT(after, Contains(row));
  EXPECT_EQ(merge({inputs[0], inputs[2]}, "b.db").added, 0);
  EXPECT_EQ(rows_of(inputs[1], "SELECT id, run_id, config_id, samples FROM measurements"), after);
}

TEST_F(MergeTest, AnInputThatIsTheOutputAddsNothing) {
  const std::vector<fs::path> inputs = three_databases();
  fs::create_symlink(inputs[0], path("link.db"));
  const auto before = dump_of(inputs[0], true);
  const MergeReport report = merge({inputs[0], path("link.db"), inputs[0]}, "a.db");
  EXPECT_EQ(report.rows, 3);
  EXPECT_EQ(report.added, 0);
  EXPECT_THAT(report.contradictions, IsEmpty());
  // But for the mark of the kernels of the program that wrote last.
  change(inputs[0], "UPDATE kernels SET is_current = 0");
  EXPECT_EQ(dump_of(inputs[0], true), before);
}

TEST_F(MergeTest, ARunInProgressGoesOnInTheMergedDatabase) {
  const std::vector<fs::path> inputs = three_databases();
  Database running = writable(path("run.db"));
  store_measured(running, kA6000, "8x8x8", kWholeTiles, 5);
  merge(inputs, "run.db");
  store_measured(running, kA6000, "9x9x9", kWholeTiles, 6);
  running.confirm_stored();
  EXPECT_THAT(rows_of(path("run.db"),
                      "SELECT count(*) FROM measurements m JOIN problems p ON p.id = problem_id "
                      "WHERE p.text IN ('8x8x8', '9x9x9') GROUP BY run_id"),
              ElementsAre("2"));
  EXPECT_THAT(check_database(path("run.db")), IsEmpty());
}

TEST_F(MergeTest, DatabasesOfEarlierVersionsAreReadAsTheyAre) {
  change(path("1.db"), read_file(GT_TEST_VERSION_1_SQL));
  change(path("2.db"), read_file(GT_TEST_VERSION_2_SQL));
  const std::string bytes_1 = read_file(path("1.db")), bytes_2 = read_file(path("2.db"));
  writable(path("3.db")).store(kA6000, k1024, kWholeTiles, kHash, measured(60), Source::measured);
  const MergeReport report = merge({path("1.db"), path("2.db"), path("3.db")});
  const std::int64_t rows =
      std::stoll(rows_of(path("1.db"), "SELECT count(*) FROM candidates").at(0)) +
      std::stoll(rows_of(path("2.db"), "SELECT count(*) FROM measurements").at(0)) + 1;
  EXPECT_EQ(report.rows, rows);
  EXPECT_EQ(read_file(path("1.db")), bytes_1);
  EXPECT_EQ(read_file(path("2.db")), bytes_2);
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
  // The upgraded copy of a database has the same rows.
  fs::copy_file(path("1.db"), path("upgraded.db"));
  Database(path("upgraded.db"), Database::Mode::create_or_open).begin_run(kRun);
  EXPECT_EQ(merge({path("upgraded.db")}).added, 0);
}

TEST_F(MergeTest, InputsDoNotChange) {
  const std::vector<fs::path> inputs = three_databases();
  std::vector<std::string> before;
  for (const fs::path& input : inputs) before.push_back(read_file(input));
  merge(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(read_file(inputs[i]), before[i]);
  EXPECT_THAT(names(), ElementsAre("a.db", "b.db", "c.db", "out.db"));
}

TEST_F(MergeTest, ADamagedInputIsRefusedAndTheOutputStaysAsItWas) {
  const std::vector<fs::path> inputs = three_databases();
  const struct {
    const char *sql, *sentence;
  } kDamages[] = {
      {"UPDATE measurements SET samples = '[1, 2' WHERE median_us = 50", "its samples"},
      {"UPDATE measurements SET samples = '[1, 2]' WHERE median_us = 50", "is not the median"},
      {"UPDATE measurements SET median_us = 9e999 WHERE median_us = 50", "its median_us"},
      {"UPDATE measurements SET median_us = 'soon' WHERE median_us = 50", "its median_us"},
      {"UPDATE measurements SET config_id = 99", "refers to another one that does not exist"},
      {"UPDATE measurements SET measured_kernel_id = 99", "refers to another one"},
      {"UPDATE baselines SET run_id = 99", "refers to another one that does not exist"},
      {"UPDATE baselines SET samples = 'x'", "its samples are malformed"},
      {"UPDATE devices SET arch = 'sm_A'", "its arch is not one as in sm_86"},
      {"UPDATE problems SET M = 5", "its text and its numbers differ"},
      {"DROP TABLE baselines", "is damaged"},
  };
  const std::string before = read_file(inputs[0]);
  for (const auto& [sql, sentence] : kDamages) {
    fs::copy_file(inputs[2], path("damaged.db"), fs::copy_options::overwrite_existing);
    change(path("damaged.db"), "PRAGMA ignore_check_constraints = ON; " + std::string(sql));
    for (const char* output : {"new.db", "a.db"}) {
      const std::string refused = refusal({inputs[1], path("damaged.db")}, output);
      EXPECT_THAT(refused, HasSubstr(sentence)) << sql;
      EXPECT_THAT(refused, HasSubstr("damaged.db' is damaged")) << sql;
    }
  }
  EXPECT_EQ(read_file(inputs[0]), before);
  EXPECT_THAT(names(), ElementsAre("a.db", "b.db", "c.db", "damaged.db"));
}

TEST_F(MergeTest, ATruncatedAForeignAndAMissingInputAreRefused) {
  const std::vector<fs::path> inputs = three_databases();
  fs::copy_file(inputs[0], path("short.db"));
  fs::resize_file(path("short.db"), fs::file_size(path("short.db")) / 2);
  change(path("foreign.db"), "CREATE TABLE mine (x)");
  write_file(path("text.db"), "SELECT 1;\n");
  write_file(path("empty.db"), "");
  EXPECT_THAT(refusal({path("none.db")}),
              HasSubstr("none.db' does not exist: name databases that"));
  EXPECT_THAT(refusal({path("short.db")}), HasSubstr("is damaged"));
  EXPECT_THAT(refusal({path("foreign.db")}), HasSubstr("belongs to another program"));
  EXPECT_THAT(refusal({path("text.db")}), HasSubstr("is not a database"));
  EXPECT_THAT(refusal({path("empty.db")}), HasSubstr("is empty"));
  EXPECT_THAT(refusal({path("none.db")}), HasSubstr("none.db' does not exist"));
  EXPECT_THAT(refusal({folder_}), HasSubstr("is a directory"));
  EXPECT_FALSE(fs::exists(path("out.db")));
}

TEST_F(MergeTest, AnOutputThatCannotBeUsedIsRefused) {
  const std::vector<fs::path> inputs = three_databases();
  write_file(path("text.db"), "SELECT 1;\n");
  EXPECT_THAT(refusal(inputs, "text.db"), HasSubstr("is not a database"));
  EXPECT_EQ(read_file(path("text.db")), "SELECT 1;\n");
  EXPECT_THAT(refusal(inputs, "no/folder.db"), HasSubstr("does not exist; create it"));
  write_file(path("out.db-wal"), "of an earlier database");
  EXPECT_THAT(refusal(inputs), HasSubstr("out.db-wal' of an earlier database is there"));
  fs::copy_file(inputs[1], path("damaged.db"));
  change(path("damaged.db"),
         "PRAGMA ignore_check_constraints = ON; UPDATE measurements SET samples = 'x'");
  EXPECT_THAT(refusal(inputs, "damaged.db"), HasSubstr("damaged.db' is damaged"));
}

TEST_F(MergeTest, ThePartOfANewFileThatAKilledMergeHasLeftIsRemovedByTheNextMerge) {
  const std::vector<fs::path> inputs = three_databases();
  leave_folder_of_killed_owner(path("."), ".gemm-tune", {"out.db", "out.db-journal"});
  ASSERT_EQ(names().size(), 4u);
  merge(inputs);
  EXPECT_THAT(names(), ElementsAre("a.db", "b.db", "c.db", "out.db"));
}

class KilledMergeTest : public MergeTest {
 protected:
  // Merges until it is killed.
  void kill_merge(const std::vector<fs::path>& inputs, std::mt19937& random) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        merge(inputs);
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  }
};

TEST_F(KilledMergeTest, LeavesTheOldDatabaseOrTheWholeNewOne) {
  const std::vector<fs::path> inputs = three_databases();
  const std::string rows = "SELECT count(*) FROM measurements";
  std::mt19937 random(1);
  for (int round = 0; round < rounds(20, 200); ++round) {
    fs::remove(path("out.db"));
    fs::remove(path("out.db-wal"));
    const bool is_new = round % 2 == 0;
    if (!is_new) merge({inputs[0]});
    kill_merge(inputs, random);
    if (is_new && !fs::exists(path("out.db"))) continue;
    const std::string found = rows_of(path("out.db"), rows).at(0);
    EXPECT_THAT(found, AnyOf(is_new ? "10" : "3", "10"));
    EXPECT_THAT(check_database(path("out.db")), IsEmpty()) << "round " << round;
  }
}

}  // namespace
}  // namespace gemm_tune
