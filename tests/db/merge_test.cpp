// SPDX-License-Identifier: Apache-2.0
// Several databases become one: no row is lost, doubled or changed, whatever the order.
#include "db/transfer/merge.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <set>

#include "core/error.h"
#include "db/file/check.h"
#include "db/file/database_file.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/db/killed_at_call.h"
#include "tests/matchers.h"
#include "tests/rounds.h"

namespace gemm_tune {
namespace {

class MergeTest : public DbTest {
 protected:
  MergeReport merge(const std::vector<fs::path>& inputs, const std::string& output = "out.db") {
    return merge_databases(inputs, path(output), kRevisions);
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
      a.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(80), 2e-7});
      store_measured(a, kA6000, "1024x1024x1024", kWholeTiles, 60);
      store_measured(a, kA6000, "1024x1024x1024", kPredicated, 55);
      a.store(kA6000, parse_problem("64x64x64"), kWholeTiles, kRevision,
              failed(Disposition::crashed, "of 'a'\nwith \"quotes\" and \x01"), Source::measured);
    }
    fs::copy_file(path("a.db"), path("b.db"));
    {
      Database b = writable(path("b.db"));
      b.store(kA6000, k1024, kPredicated, kRevision, failed(Disposition::wrong_result, "wrong"),
              Source::measured);
      store_measured(b, kA10, "1024x1024x1024", kWholeTiles, 90);
      store_predicted(b, kA10, "512x512x512", kWholeTiles, 20);
    }
    {
      Database c = writable(path("c.db"));
      c.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(81), 2e-7});
      store_measured(c, kA6000, "1024x1024x1024", kWholeTiles, 50);
      store_measured(c, kA6000, "1024x1024x1024", kPredicated, 58);
      store_measured(c, {"sm_90", "NVIDIA \"H100\" \\ '80GB'\n\xc2\xb2|", 132}, "7x8x0",
                     kPredicated, 3, "6");
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
    a.begin_run(kRun);
    a.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(80), 2e-7});
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
      "SELECT r.uuid, r.seed, r.command, d.name, p.text, c.config, c.revision, m.disposition, "
      "m.reason, m.samples, m.recorded_at FROM measurements m JOIN runs r ON r.id = run_id "
      "JOIN devices d ON d.id = device_id JOIN problems p ON p.id = problem_id "
      "JOIN candidates c ON c.id = candidate_id ORDER BY m.id";
  std::set<std::string> expected;
  for (const fs::path& input : inputs) {
    for (const std::string& row : rows_of(input, rows)) expected.insert(row);
  }
  const std::vector<std::string> found = rows_of(path("out.db"), rows);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  EXPECT_THAT(found, SizeIs(expected.size()));
  EXPECT_THAT(rows_of(path("out.db"), "SELECT id FROM runs"), SizeIs(3));
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
}

TEST_F(MergeTest, TheBestVerifiedMeasurementWins) {
  merge(three_databases());
  EXPECT_THAT(winners(path("out.db")),
              ElementsAre("NVIDIA A10|512x512x512|" + kWholeTiles + "|NULL",
                          "NVIDIA A10|1024x1024x1024|" + kWholeTiles + "|90.0",
                          "NVIDIA RTX A6000|64x64x64|" + kWholeTiles + "|9.0",
                          "NVIDIA RTX A6000|1024x1024x1024|" + kWholeTiles + "|50.0"));
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
  EXPECT_EQ(found[1].revision, kRevision);
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
      database.store(kA6000, k1024, kWholeTiles, kRevision,
                     fails ? failed(Disposition::crashed, "why") : measured(60), Source::measured);
    }
    change(path(first), "UPDATE measurements SET recorded_at = '2026-01-01T00:00:00.000Z'");
    merge({path(first)}, first + std::string(".out"));
    EXPECT_THAT(rows_of(path(first + std::string(".out")),
                        "SELECT disposition FROM measurements WHERE counts = 1"),
                ElementsAre(fails_last ? "crashed" : "ok"));
  }
}

// The finals of two runs that do not know each other, and later ones that know the first.
TEST_F(MergeTest, OfFinalsOfDifferentDatabasesTheFasterDecideUnlessTheirWinnerWasTriedAgain) {
  const auto store = [](Database& database, const std::string& config, double us, int rank) {
    database.store(kA6000, k1024, config, kRevision, ranked(us, rank), Source::measured);
  };
  {
    Database a = writable(path("a.db")), b = writable(path("b.db"));
    store(a, kWholeTiles, 50, 1);
    store(a, kPredicated, 49, 2);
    store(b, kPredicated, 52, 1);
  }
  fs::copy_file(path("a.db"), path("later.db"));
  {
    Database later = writable(path("later.db"));
    store(later, kWholeTiles, 54, 2);
    store(later, kPredicated, 53, 1);
  }
  std::vector<fs::path> inputs = {path("a.db"), path("b.db")};
  const auto winner = [&] {
    std::set<std::string> found;
    do {
      fs::remove(path("out.db"));
      merge(inputs);
      const Database merged(path("out.db"), Database::Mode::read_only);
      found.insert(merged.winners("sm_86", kRevisions).at(0).config);
    } while (std::next_permutation(inputs.begin(), inputs.end()));
    return found;
  };
  EXPECT_THAT(winner(), ElementsAre(kWholeTiles));
  inputs.push_back(path("later.db"));
  EXPECT_THAT(winner(), ElementsAre(kPredicated));
}

TEST_F(MergeTest, TheLaterBaselineOfARunIsKept) {
  writable(path("a.db")).store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(80)});
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
  const auto before =
      rows_of(inputs[1], "SELECT id, run_id, candidate_id, samples FROM measurements");
  EXPECT_EQ(merge({inputs[0], inputs[2]}, "b.db").added, 4);
  const auto after =
      rows_of(inputs[1], "SELECT id, run_id, candidate_id, samples FROM measurements");
  for (const std::string& row : before) EXPECT_THAT(after, Contains(row));
  EXPECT_EQ(merge({inputs[0], inputs[2]}, "b.db").added, 0);
  EXPECT_EQ(rows_of(inputs[1], "SELECT id, run_id, candidate_id, samples FROM measurements"),
            after);
}

TEST_F(MergeTest, AnInputThatIsTheOutputAddsNothing) {
  const std::vector<fs::path> inputs = three_databases();
  fs::create_symlink(inputs[0], path("link.db"));
  const auto before = dump_of(inputs[0], true);
  const MergeReport report = merge({inputs[0], path("link.db"), inputs[0]}, "a.db");
  EXPECT_EQ(report.rows, 3);
  EXPECT_EQ(report.added, 0);
  EXPECT_THAT(report.contradictions, IsEmpty());
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
      {"UPDATE measurements SET candidate_id = 99", "refers to another one that does not exist"},
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
  fs::copy_file(inputs[1], path("damaged.db"));
  change(path("damaged.db"),
         "PRAGMA ignore_check_constraints = ON; UPDATE measurements SET samples = 'x'");
  EXPECT_THAT(refusal(inputs, "damaged.db"), HasSubstr("damaged.db' is damaged"));
}

// Whether the merge was killed; otherwise it has ended.
bool merge_is_killed_at(int call, const std::function<void()>& merge) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      kill_at_call(call);
      merge();
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

TEST_F(MergeTest, KilledAtACallOfSQLiteAMergeLeavesWhatWasThereOrAll) {
  const std::vector<fs::path> inputs = three_databases();
  const std::string rows = "SELECT count(*) FROM measurements";
  for (const bool is_new : {true, false}) {
    const int step = rounds(7, 1);
    int call = 1 - step;
    bool was_killed = true;
    while (was_killed) {
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        fs::remove(path(std::string("out.db") + suffix));
      }
      if (!is_new) merge({inputs[0]});
      was_killed = merge_is_killed_at(call += step, [&] { merge(inputs); });
      const bool goes_on = call % 2 == 0;  // with whatever the killed merge has left
      if (goes_on) merge(inputs);
      const bool is_there = fs::exists(path("out.db"));
      EXPECT_TRUE(is_there || (is_new && was_killed && !goes_on)) << call;
      if (!is_there) continue;
      const std::string found = rows_of(path("out.db"), rows).at(0);
      EXPECT_THAT(found, AnyOf(goes_on || !was_killed || is_new ? "10" : "3", "10")) << call;
      EXPECT_THAT(check_database(path("out.db")), IsEmpty()) << call;
    }
    EXPECT_GT(call, 10) << "these are not SQLite's calls";
  }
  merge(inputs, "last.db");  // removes what the killed ones have left aside
  EXPECT_THAT(names(), Not(Contains(StartsWith(".gemm-tune-"))));
}

TEST_F(MergeTest, ANewDatabaseTakesNoChangesFromAnEarlierOneOfItsName) {
  const std::vector<fs::path> inputs = three_databases();
  {
    Database earlier = writable(path("out.db"));
    store_measured(earlier, kA6000, "8x8x8", kPredicated, 1);
    for (const char* suffix : {"-wal", "-shm"}) {
      fs::copy(path(std::string("out.db") + suffix), path(std::string("kept") + suffix));
    }
  }
  fs::remove(path("out.db"));
  for (const char* suffix : {"-wal", "-shm"}) {
    fs::rename(path(std::string("kept") + suffix), path(std::string("out.db") + suffix));
  }
  merge(inputs);
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
  EXPECT_EQ(rows_of(path("out.db"), "SELECT count(*) FROM measurements").at(0), "10");
}

TEST_F(MergeTest, ADatabaseThatAnotherProcessHasMadeMeanwhileStaysAsItIs) {
  std::optional<Database> other;  // with its rows in its log
  const auto make_other = [&](SQLite::Database&) {
    other.emplace(writable(path("out.db")));
    store_measured(*other, kA6000, "8x8x8", kPredicated, 1);
  };
  try {
    change_database(path("out.db"), {}, make_other);
    ADD_FAILURE() << "replaced";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was made by another process meanwhile: try again"));
  }
  other.reset();
  EXPECT_THAT(check_database(path("out.db")), IsEmpty());
  EXPECT_EQ(rows_of(path("out.db"), "SELECT count(*) FROM measurements").at(0), "1");
}

TEST_F(MergeTest, ALinkThatLeadsToNoFileStaysALinkToTheNewDatabase) {
  const std::vector<fs::path> inputs = three_databases();
  fs::create_directory(path("elsewhere"));
  fs::create_symlink("elsewhere/merged.db", path("out.db"));
  merge(inputs);
  EXPECT_TRUE(fs::is_symlink(path("out.db")));
  EXPECT_THAT(check_database(path("elsewhere/merged.db")), IsEmpty());
}

}  // namespace
}  // namespace gemm_tune
