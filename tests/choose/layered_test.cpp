// SPDX-License-Identifier: Apache-2.0
// The user's database and the layers below it, and where layers are looked for.
#include "choose/layered.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "choose/choose.h"
#include "db/layers.h"
#include "db/transfer/merge.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

class LayeredTest : public DbTest {
 protected:
  // A file as a package has it: whole, with no log beside it.
  fs::path layer(const std::string& name, const std::string& problem, const std::string& config,
                 double us, const std::string& hash = kRevision) const {
    {
      Database database(path("source-" + name), Database::Mode::create_or_open);
      database.begin_run(kRun);
      store_measured(database, kA6000, problem, config, us, hash);
    }
    merge_databases({path("source-" + name)}, path(name), kRevisions);
    for (const char* suffix : {"-wal", "-shm"}) EXPECT_FALSE(fs::exists(path(name + suffix)));
    return path(name);
  }
  Choice choice(const std::vector<fs::path>& layers, const Database* own = nullptr,
                const std::string& problem = "1024x1024x1024") const {
    Layered known = load_layered(own, layers, "sm_86", kRevisions);
    EXPECT_THAT(known.notes, IsEmpty());
    return choose(std::move(known.tuned["sm_86"]), kA6000, parse_problem(problem));
  }
  static std::string text(const Choice& choice) { return to_string(choice.config->config()); }
};

TEST_F(LayeredTest, ALayerAnswersWhereTheUserHasNothingAndIsNamed) {
  const Choice found = choice({layer("a.db", "1024x1024x1024", kWholeTiles, 60)});
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(text(found), kWholeTiles);
  EXPECT_EQ(found.layer, path("a.db").string());
  EXPECT_EQ(found.explanation,
            "the winner for this problem on NVIDIA RTX A6000 with 84 SMs (measured), of '" +
                path("a.db").string() + "'");
  const Choice near = choice({path("a.db")}, nullptr, "2048x1024x1024");
  EXPECT_EQ(near.match, Match::nearest);
  EXPECT_THAT(near.explanation, HasSubstr(", of '" + path("a.db").string() + "'"));
}

TEST_F(LayeredTest, TheUsersMeasuredWinnerComesFirstThoughALayersIsFaster) {
  Database own = writable(file_);
  const fs::path below = layer("a.db", "1024x1024x1024", kWholeTiles, 60);
  store_measured(own, kA6000, "1024x1024x1024", kPredicated, 70);
  const Choice found = choice({below}, &own);
  EXPECT_EQ(text(found), kPredicated);
  EXPECT_EQ(found.layer, "");
  EXPECT_THAT(found.explanation, Not(HasSubstr("a.db")));
}

TEST_F(LayeredTest, ALayersMeasuredWinnerComesBeforeTheUsersPrediction) {
  Database own = writable(file_);
  store_predicted(own, kA6000, "1024x1024x1024", kPredicated, 5);
  EXPECT_EQ(text(choice({layer("a.db", "1024x1024x1024", kWholeTiles, 60)}, &own)), kWholeTiles);
  EXPECT_EQ(text(choice({}, &own)), kPredicated);
}

TEST_F(LayeredTest, OfTwoLayersTheFasterWinnerCountsInAnyOrder) {
  const fs::path a = layer("a.db", "1024x1024x1024", kWholeTiles, 60),
                 b = layer("b.db", "1024x1024x1024", kPredicated, 50);
  for (const std::vector<fs::path>& order : {std::vector{a, b}, std::vector{b, a}}) {
    EXPECT_EQ(choice(order).layer, b.string());
    EXPECT_EQ(choice(order).expected_us, 50);
  }
}

TEST_F(LayeredTest, AStaleWinnerOfALayerIsNotChosen) {
  const fs::path stale = layer("a.db", "1024x1024x1024", kWholeTiles, 1, "an earlier kernel"),
                 today = layer("b.db", "1024x1024x1024", kPredicated, 50);
  EXPECT_EQ(choice({stale, today}).layer, today.string());
}

TEST_F(LayeredTest, ALayerThatCannotBeReadIsLeftOutWithOneSentence) {
  const fs::path good = layer("good.db", "1024x1024x1024", kWholeTiles, 60);
  const std::string bytes = read_file(good);
  write_file(path("text.db"), "no database");
  write_file(path("cut.db"), bytes.substr(0, bytes.size() / 2));
  std::string overwritten = bytes;
  for (std::size_t at = 8192; at + 4096 <= bytes.size(); at += 4096) {
    overwritten.replace(at, 64, 64, '\xff');
  }
  write_file(path("overwritten.db"), overwritten);
  fs::create_directory(path("folder.db"));
  fs::create_symlink("/dev/zero", path("endless.db"));
  fs::create_symlink(path("nowhere"), path("dangling.db"));
  SQLite::Database(path("foreign.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t (a)");
  write_file(path("unfinished.db"), bytes);
  write_file(path("unfinished.db-wal"), "changes");
  int left_out = 0;
  for (const char* name : {"text.db", "cut.db", "overwritten.db", "folder.db", "endless.db",
                           "dangling.db", "foreign.db", "unfinished.db"}) {
    Layered known = load_layered(nullptr, {path(name), good}, std::nullopt, kRevisions);
    ASSERT_EQ(known.notes.size(), 1u) << name;
    EXPECT_THAT(known.notes[0], HasSubstr(name));
    EXPECT_EQ(known.notes[0].find('\n'), std::string::npos);
    EXPECT_EQ(choose(known.tuned["sm_86"], kA6000, k1024).layer, good.string()) << name;
    ++left_out;
  }
  EXPECT_EQ(left_out, 8);
}

TEST_F(LayeredTest, ALayerIsNeitherWrittenNorLocked) {
  const fs::path below = layer("a.db", "1024x1024x1024", kWholeTiles, 60);
  const std::string bytes = read_file(below);
  // In the format of a write-ahead log, too: of such a file SQLite would make an index beside it.
  for (const char* const mode : {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL"}) {
    SQLite::Database(below.string(), SQLite::OPEN_READWRITE).exec(mode);
    const std::string before = read_file(below);
    const SQLite::Database locked(below.string(), SQLite::OPEN_READWRITE);
    const_cast<SQLite::Database&>(locked).exec("PRAGMA locking_mode = EXCLUSIVE");
    if (std::string(mode).ends_with("DELETE")) {
      const_cast<SQLite::Database&>(locked).exec("BEGIN EXCLUSIVE");
    }
    EXPECT_EQ(text(choice({below})), kWholeTiles);
    EXPECT_EQ(read_file(below), before);
    EXPECT_FALSE(fs::exists(path("a.db-wal")));
    EXPECT_FALSE(fs::exists(path("a.db-shm")));
  }
}

TEST_F(LayeredTest, TheFoldersAreThoseOfXdgThenTheInstallations) {
  EXPECT_THAT(layer_folders(nullptr, "/opt/gt/bin/gemm-tune"),
              ElementsAre("/usr/local/share/gemm-tune", "/usr/share/gemm-tune",
                          "/opt/gt/share/gemm-tune/winners"));
  EXPECT_THAT(layer_folders("", "/usr/lib/x86_64-linux-gnu/libgemm_tune.so.0"),
              ElementsAre("/usr/local/share/gemm-tune", "/usr/share/gemm-tune",
                          "/usr/share/gemm-tune/winners"));
  EXPECT_THAT(layer_folders("/b::relative:/a:/b", std::nullopt),
              ElementsAre("/b/gemm-tune", "/a/gemm-tune"));
}

TEST_F(LayeredTest, TheFilesOfAFolderComeByName) {
  for (const char* name : {"b.db", "a.db", "c.json", "b.db-journal"}) write_file(path(name), "");
  EXPECT_THAT(layer_files({path("none"), folder_}), ElementsAre(path("a.db"), path("b.db")));
}

}  // namespace
}  // namespace gemm_tune
