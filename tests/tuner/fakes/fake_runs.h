// SPDX-License-Identifier: Apache-2.0
// What tests of whole runs with fake workers share: a folder of a test's own, rows and logs in it.
#pragma once

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/default_signals.h"
#include "tests/matchers.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {

class FakeRunsTest : public testing::Test {
 protected:
  // The default kernel cache and the temporary folder of the programs that are spawned.
  FakeRunsTest() {
    use_default_signals();
    EXPECT_EQ(setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1), 0);
    std::filesystem::create_directory(file("tmp"));
    EXPECT_EQ(setenv("TMPDIR", file("tmp").c_str(), 1), 0);
  }
  ~FakeRunsTest() override { EXPECT_EQ(unsetenv("TMPDIR"), 0); }

  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  // Config -> disposition of all rows; checks the file's integrity on the way.
  static std::map<std::string, std::string> rows(const std::string& path) {
    std::map<std::string, std::string> found;
    if (!std::filesystem::exists(path)) return found;  // killed before it was made
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    const auto each = [](void* out, int, char** values, char**) {
      static_cast<std::map<std::string, std::string>*>(out)->emplace(values[0], values[1]);
      return 0;
    };
    std::map<std::string, std::string> integrity;
    sqlite3_exec(db, "SELECT integrity_check, '' FROM pragma_integrity_check", each, &integrity,
                 nullptr);
    EXPECT_EQ(integrity.count("ok"), 1u) << path;
    // A kill may come before the schema is there.
    sqlite3_exec(db, "SELECT config, disposition FROM outcomes", each, &found, nullptr);
    sqlite3_close(db);
    return found;
  }

  static std::vector<std::string> lines(const std::string& path) {
    std::ifstream in(path);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);) found.push_back(line);
    return found;
  }

  ScratchDir dir_{"gemm-tune-test"};
};

}  // namespace gemm_tune
