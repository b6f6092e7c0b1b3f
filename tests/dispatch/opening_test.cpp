// SPDX-License-Identifier: Apache-2.0
// What the C interface opens: a database, the layers below the default one, a kernel cache.
#include <gemm_tune/gemm_tune.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gemm_tune/gemm_tune.hpp>
#include <string>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_test.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr gt_device kCard = {"sm_86", "NVIDIA GeForce RTX 3090", 82};

using OpeningTest = SampleTest;

TEST_F(OpeningTest, RefusesDatabasesThatAreNone) {
  gt_handle* handle = nullptr;
  const auto missing = directory_ / "missing.db";
  EXPECT_EQ(open_database(missing, &handle), GT_DATABASE_ERROR);
  EXPECT_THAT(gt_last_error(), HasSubstr(missing.string()));
  EXPECT_FALSE(std::filesystem::exists(missing));
  EXPECT_EQ(open_database(directory_, &handle), GT_DATABASE_ERROR);
  const auto text = directory_ / "text.db";
  std::ofstream(text) << "no database, but long enough to be looked at as one, line by line\n";
  EXPECT_EQ(open_database(text, &handle), GT_DATABASE_ERROR);
  EXPECT_EQ(handle, nullptr);
}

// SQLite makes a file beside a database with a log.
TEST_F(OpeningTest, ALimitOnFileSizesEndsNoProgram) {
  const auto copy = directory_ / "copy.db";
  std::filesystem::copy_file(database_, copy);
  gt_handle* handle = nullptr;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const gt_status status = open_database(copy, &handle);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status, GT_OK) << gt_last_error();
  gt_close(handle);
}

TEST_F(OpeningTest, OpensTheDefaultDatabaseWhereNoneIsNamed) {
  ASSERT_EQ(setenv("XDG_CACHE_HOME", directory_.c_str(), 1), 0);
  ASSERT_EQ(setenv("GEMM_TUNE_DB", database_.c_str(), 1), 0);
  EXPECT_STREQ(Handle().lookup(kCard, make_call(1024, 1024, 1024)).config, kSampleConfig);
  ASSERT_EQ(unsetenv("GEMM_TUNE_DB"), 0);
  ASSERT_EQ(setenv("XDG_DATA_HOME", directory_.c_str(), 1), 0);
  std::filesystem::create_directory(directory_ / "gemm-tune");
  std::ofstream(directory_ / "gemm-tune" / "gemm-tune.db") << "no database";
  gt_handle* handle = nullptr;
  EXPECT_EQ(gt_open(nullptr, &handle), GT_DATABASE_ERROR);
  EXPECT_THAT(gt_last_error(), HasSubstr((directory_ / "gemm-tune" / "gemm-tune.db").string()));
}

// An empty home, and a layer in one of XDG_DATA_DIRS.
class LayerTest : public OpeningTest {
 protected:
  LayerTest() {
    std::filesystem::create_directories(layer_.parent_path());
    EXPECT_EQ(setenv("XDG_DATA_HOME", (directory_ / "home").c_str(), 1), 0);
    EXPECT_EQ(setenv("XDG_DATA_DIRS", (directory_ / "system").c_str(), 1), 0);
  }
  ~LayerTest() override {
    unsetenv("XDG_DATA_HOME");
    unsetenv("XDG_DATA_DIRS");
  }

  // By rename, as a package's file comes.
  void put_layer() {
    std::filesystem::copy_file(database_, layer_.string() + ".new");
    std::filesystem::rename(layer_.string() + ".new", layer_);
  }

  const std::filesystem::path layer_ = directory_ / "system" / "gemm-tune" / "a.db";
};

TEST_F(LayerTest, AnEmptyHomeIsAnsweredByALayerThatIsNamed) {
  put_layer();
  const Handle handle;
  const gt_gemm_call call = make_call(1024, 1024, 1024);
  const gt_recipe recipe = handle.lookup(kCard, call);
  EXPECT_EQ(recipe.match, GT_MATCH_EXACT);
  EXPECT_STREQ(recipe.config, kSampleConfig);
  EXPECT_EQ(recipe.tuned_us, 150);
  EXPECT_EQ(recipe.baseline_us, 160);
  EXPECT_THAT(handle.explain(kCard, call), HasSubstr(", of '" + layer_.string() + "'"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "home"));
}

TEST_F(LayerTest, ANamedDatabaseHasNoLayer) {
  put_layer();
  const std::string missing = directory_ / "missing.db";
  gt_handle* handle = nullptr;
  EXPECT_EQ(open_database(missing, &handle), GT_DATABASE_ERROR);
  ASSERT_EQ(setenv("GEMM_TUNE_DB", missing.c_str(), 1), 0);
  EXPECT_EQ(gt_open(nullptr, &handle), GT_DATABASE_ERROR);
  ASSERT_EQ(unsetenv("GEMM_TUNE_DB"), 0);
}

TEST_F(LayerTest, ALayerThatComesOrGoesIsSeenByReload) {
  const auto home = directory_ / "home" / "gemm-tune" / "gemm-tune.db";
  std::filesystem::create_directories(home.parent_path());
  { const Database empty(home, Database::Mode::create_or_open); }
  Handle handle;
  const auto match = [&] { return handle.lookup(kCard, make_call(1024, 1024, 1024)).match; };
  EXPECT_EQ(match(), GT_MATCH_DEFAULT);  // nothing tuned fits
  put_layer();
  EXPECT_EQ(match(), GT_MATCH_DEFAULT);
  handle.reload();
  EXPECT_EQ(match(), GT_MATCH_EXACT);
  std::ofstream(layer_) << "a layer that cannot be read";
  handle.reload();
  EXPECT_EQ(match(), GT_MATCH_DEFAULT);
}

class DefaultCacheTest : public OpeningTest {
 protected:
  DefaultCacheTest() {
    EXPECT_EQ(setenv("XDG_CACHE_HOME", (directory_ / "xdg").c_str(), 1), 0);
    EXPECT_EQ(setenv("GEMM_TUNE_DB", database_.c_str(), 1), 0);
  }
  ~DefaultCacheTest() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("GEMM_TUNE_DB");
  }

  const std::filesystem::path cache_ = directory_ / "xdg" / "gemm-tune";
};

TEST_F(DefaultCacheTest, ComesWithTheDefaultDatabaseForItsOwnerAlone) {
  const Handle handle;
  EXPECT_EQ(std::filesystem::status(cache_).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(DefaultCacheTest, ANamedDatabaseHasNone) {
  const Handle handle(database_.string());
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(DefaultCacheTest, ANamedDirectoryTakesItsPlace) {
  gt_handle* handle = nullptr;
  gt_options options = GT_OPTIONS_INIT;
  const std::string named = directory_ / "named";
  options.kernel_cache = named.c_str();
  ASSERT_EQ(gt_open(&options, &handle), GT_OK);
  gt_close(handle);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "named"));
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(DefaultCacheTest, IsLeftOutWhereItCannotServe) {
  std::filesystem::create_directories(cache_.parent_path());
  std::ofstream(cache_) << "a file in its place";
  EXPECT_EQ(Handle().lookup(kCard, make_call(1024, 1024, 1024)).match, GT_MATCH_EXACT);
  std::filesystem::remove(cache_);
  std::filesystem::create_directory(cache_);
  std::filesystem::permissions(cache_, std::filesystem::perms::all);
  EXPECT_EQ(Handle().lookup(kCard, make_call(1024, 1024, 1024)).match, GT_MATCH_EXACT);
}

TEST_F(DefaultCacheTest, IsNotMadeWhereTheDatabaseCannotBeOpened) {
  std::filesystem::remove(database_);
  gt_handle* handle = nullptr;
  EXPECT_EQ(gt_open(nullptr, &handle), GT_DATABASE_ERROR);
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(OpeningTest, RefusesACachePathThatCannotBeADirectory) {
  gt_handle* handle = nullptr;
  const std::string below = database_.string() + "/kernels";
  for (const std::string& path : {database_.string(), below, std::string()}) {
    EXPECT_EQ(open_kernels(database_.c_str(), path.c_str(), &handle), GT_INVALID_ARGUMENT) << path;
    EXPECT_THAT(gt_last_error(), HasSubstr("'" + path + "' cannot serve as kernel cache: "));
  }
  EXPECT_EQ(handle, nullptr);
}

TEST_F(OpeningTest, RefusesACacheDirectoryThatOthersMayWriteTo) {
  std::filesystem::create_directory(directory_ / "kernels");
  std::filesystem::permissions(directory_ / "kernels", std::filesystem::perms::all);
  gt_handle* handle = nullptr;
  EXPECT_EQ(open_kernels(database_.c_str(), (directory_ / "kernels").c_str(), &handle),
            GT_INVALID_ARGUMENT);
  EXPECT_THAT(gt_last_error(), HasSubstr("chmod go-w"));
}

}  // namespace
}  // namespace gemm_tune
