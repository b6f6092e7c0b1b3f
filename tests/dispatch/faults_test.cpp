// SPDX-License-Identifier: Apache-2.0
// The C interface where memory runs out or the database is damaged: a status and a sentence, never
// a crash. This program's operator new fails when a test says so, also inside the library.
#include <gemm_tune/gemm_tune.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gemm_tune/gemm_tune.hpp>
#include <iterator>
#include <new>
#include <string>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace {

constexpr long kNever = -1;
std::atomic<long> left_until_failure = kNever;

void* allocate(std::size_t bytes) {
  if (left_until_failure != kNever && left_until_failure-- == 0) {
    left_until_failure = 0;  // and those that follow
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Never inlined: g++ would see a free() of what operator new returned, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace gemm_tune {
namespace {

constexpr gt_device kDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() { write_sample_database(database_); }

  // Opens and asks for the exact match of 1024^3; the first status that is not GT_OK.
  gt_status open_and_look_up(const std::filesystem::path& database, std::string* config = nullptr) {
    gt_handle* handle = nullptr;
    gt_status status = open_database(database, &handle);
    if (status != GT_OK) {
      EXPECT_EQ(handle, nullptr);
      return status;
    }
    const gt_gemm_call call = make_call(1024, 1024, 1024);
    gt_recipe recipe = {};
    status = gt_lookup(handle, &kDevice, &call, &recipe);
    left_until_failure = kNever;
    if (config != nullptr && status == GT_OK) *config = recipe.config;
    gt_close(handle);
    return status;
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path(), database_ = directory_ / "winners.db";
};

TEST_F(FaultsTest, WhereMemoryRunsOutIsAStatusAndASentence) {
  std::string config;
  int failures = 0;
  // Of some 1,800 allocations the first ones each, then by steps of a tenth.
  for (long allocations = 0;; allocations += 1 + allocations / 10) {
    left_until_failure = allocations;
    const gt_status status = open_and_look_up(database_, &config);
    left_until_failure = kNever;
    if (status == GT_OK) break;
    ++failures;
    ASSERT_THAT(status, AnyOf(GT_INTERNAL_ERROR, GT_DATABASE_ERROR))
        << "allocation " << allocations;
    ASSERT_THAT(gt_last_error(), HasSubstr("memory")) << "allocation " << allocations;
  }
  EXPECT_GT(failures, 50);
  EXPECT_EQ(config, kSampleConfig);
}

TEST_F(FaultsTest, ALookUpThatALayerAnswersAllocatesNothingOnceItWasAsked) {
  const auto system = directory_ / "system";
  std::filesystem::create_directories(system / "gemm-tune");
  std::filesystem::copy_file(database_, system / "gemm-tune" / "a.db");
  ASSERT_EQ(setenv("XDG_DATA_HOME", (directory_ / "home").c_str(), 1), 0);
  ASSERT_EQ(setenv("XDG_DATA_DIRS", system.c_str(), 1), 0);
  gt_handle* handle = nullptr;
  ASSERT_EQ(gt_open(nullptr, &handle), GT_OK) << gt_last_error();
  const gt_gemm_call call = make_call(1024, 1024, 1024);
  gt_recipe recipe = {};
  ASSERT_EQ(gt_lookup(handle, &kDevice, &call, &recipe), GT_OK);
  const char* explanation = "";
  ASSERT_EQ(gt_explain(handle, &kDevice, &call, &explanation), GT_OK);
  EXPECT_THAT(explanation, HasSubstr("a.db"));
  recipe = {};
  left_until_failure = 0;
  const gt_status again = gt_lookup(handle, &kDevice, &call, &recipe);
  left_until_failure = kNever;
  EXPECT_EQ(again, GT_OK);
  EXPECT_STREQ(recipe.config, kSampleConfig);
  gt_close(handle);
}

TEST_F(FaultsTest, ADamagedDatabaseIsAStatusAndASentenceAndStaysAsItIs) {
  const std::string sound = bytes_of(database_);
  const auto damaged = directory_ / "damaged.db";
  int refused = 0;
  const auto expect_no_crash = [&](const std::string& bytes, const std::string& damage) {
    write_bytes(damaged, bytes);
    const gt_status status = open_and_look_up(damaged);
    EXPECT_THAT(status, AnyOf(GT_OK, GT_DATABASE_ERROR)) << damage;
    if (status != GT_OK) {
      ++refused;
      EXPECT_THAT(gt_last_error(), HasSubstr("damaged.db")) << damage;
    }
    EXPECT_TRUE(bytes_of(damaged) == bytes) << damage;
  };
  for (int part = 0; part < 16; ++part) {
    const std::size_t at = sound.size() / 16 * static_cast<std::size_t>(part);
    expect_no_crash(sound.substr(0, at), "cut off at " + std::to_string(at));
    std::string overwritten = sound;
    overwritten.replace(at, 512, 512, '\xff');
    expect_no_crash(overwritten, "overwritten from " + std::to_string(at));
  }
  EXPECT_GT(refused, 16);
}

TEST_F(FaultsTest, ADatabaseReplacedByGarbageLeavesAnOpenHandlesWinners) {
  gt_handle* handle = nullptr;
  ASSERT_EQ(open_database(database_, &handle), GT_OK) << gt_last_error();
  write_bytes(directory_ / "garbage", std::string(10'000, 'x'));
  std::filesystem::rename(directory_ / "garbage", database_);
  EXPECT_EQ(gt_reload(handle), GT_DATABASE_ERROR);
  EXPECT_THAT(gt_last_error(), HasSubstr("winners.db"));
  const gt_gemm_call call = make_call(1024, 1024, 1024);
  gt_recipe recipe = {};
  EXPECT_EQ(gt_lookup(handle, &kDevice, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_EQ(recipe.match, GT_MATCH_EXACT);
  EXPECT_STREQ(recipe.config, kSampleConfig);
  gt_close(handle);
}

}  // namespace
}  // namespace gemm_tune
