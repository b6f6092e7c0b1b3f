// SPDX-License-Identifier: Apache-2.0
// Files of other programs, and files without an end: the program's error messages, and how soon
// they come.
#include <sqlite3.h>
#include <sys/stat.h>

#include <thread>

#include "db/database.h"
#include "tests/await.h"
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

class CliFilesTest : public CliTest {
 protected:
  // A database with one predicted row for a device of that name.
  std::string database(const std::string& device) const {
    Database database(path("t.db"), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "", "tune", 1});
    Outcome outcome;
    outcome.predicted_us = 10;
    database.store({"sm_86", device, 84}, parse_problem("64x64x64"), kNaive, "00", outcome,
                   Source::predicted);
    return path("t.db");
  }

  static sqlite3* opened(const std::string& file) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    return db;
  }

  static void execute(sqlite3* db, const char* sql) {
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  }
};

TEST_F(CliFilesTest, ANameWithControlBytesReachesNoTerminal) {
  const std::string file = database("A10\x1b[31m\x1b]0;title\x07");
  const ProgramRun info = run("db info --db " + file);
  EXPECT_EQ(info.exit_code, 0) << info.errors;
  EXPECT_THAT(info.output, AllOf(HasSubstr("A10\\x1b[31m\\x1b]0;title\\x07 (sm_86, 84 SMs)"),
                                 Not(HasSubstr("\x1b"))));
  EXPECT_THAT(run("db info --json --db " + file).output, Not(HasSubstr("\x1b")));
}

TEST_F(CliFilesTest, AMessageOnALongOrBinaryLineIsShortAndPrintable) {
  write_file(path("long"), std::string(5'000'000, '7') + "\n");
  write_file(path("binary"), "\x1b[2J\x01\xff\n");
  for (const char* name : {"long", "binary"}) {
    for (const char* option : {"--sizes @", "--sizes 64 --config @"}) {
      const ProgramRun refused = run(std::string("--arch sm_86 ") + option + path(name));
      EXPECT_EQ(refused.exit_code, 2) << option << name;
      EXPECT_LT(refused.errors.size(), 1000u) << option << name;
      EXPECT_THAT(refused.errors, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xff"))));
      EXPECT_EQ(refused.errors.find('\x01'), std::string::npos);
      // The whole sentence.
      const std::string right =
          option == std::string("--sizes @") ? "or @file" : "write family/NAME=VALUE";
      EXPECT_THAT(refused.errors, HasSubstr(right)) << option << name;
      if (name == std::string("binary")) {
        EXPECT_THAT(refused.errors, HasSubstr("\\x1b[2J\\x01\\xff'")) << option;
      }
    }
  }
}

TEST_F(CliFilesTest, WhatHasNoEndIsRefusedAtOnce) {
  expect_refusal("--arch sm_86 --sizes @/dev/zero", 2, "'/dev/zero' is neither a regular file");
  expect_refusal("--arch sm_86 --sizes 64 --config @/dev/zero", 2, "is neither a regular file");
}

TEST_F(CliFilesTest, ALockedDatabaseIsWaitedForAloud) {
  const std::string file = database("A10");
  sqlite3* const db = opened(file);
  execute(db, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  std::thread unlocking([&] {
    await([&] { return read_file(path("stderr")).find(file) != std::string::npos; });
    execute(db, "ROLLBACK");
  });
  const ProgramRun info = run("db info --db " + file);
  unlocking.join();
  sqlite3_close(db);
  EXPECT_EQ(info.exit_code, 0) << info.errors;
  EXPECT_THAT(info.errors, HasSubstr("waiting up to 30 s"));
  const std::size_t told = info.errors.find("waiting");
  EXPECT_EQ(info.errors.find("waiting", told + 1), info.errors.npos) << info.errors;
}

TEST_F(CliFilesTest, AForeignSchemaIsRefusedAndTheHintIsAWholeCommand) {
  const std::string file = database("A10");
  sqlite3* const db = opened(file);
  execute(db, "CREATE TRIGGER spy AFTER INSERT ON runs BEGIN SELECT 1; END");
  sqlite3_close(db);
  const std::string odd = path("it's odd.db"), quoted = path("it'\\''s odd.db");
  std::filesystem::rename(file, odd);
  for (const std::string command : {"db info", "best --arch sm_86 --sizes 64"}) {
    expect_refusal(command + " --db \"" + odd + "\"", 6, "(it has the trigger 'spy'");
    expect_refusal(command + " --db \"" + odd + "\"", 6,
                   "`gemm-tune db check --db '" + quoted + "'`");
  }
  const ProgramRun check = run("db check --db \"" + odd + "\"");
  EXPECT_EQ(check.exit_code, 6);
  EXPECT_THAT(check.output, HasSubstr("trigger 'spy'"));
}

TEST_F(CliFilesTest, TheCheckNamesWhatIsForeignInASoundDatabase) {
  const std::string file = database("A10");
  sqlite3* const db = opened(file);
  execute(db, "CREATE TABLE notes (x)");
  sqlite3_close(db);
  const ProgramRun check = run("db check --db " + file);
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_EQ(check.output, file + " is sound\ntable 'notes' is not gemm-tune's; it is never read\n");
}

}  // namespace
}  // namespace gemm_tune
