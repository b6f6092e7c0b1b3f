// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/scratch_cubins.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class ScratchCubinsTest : public testing::Test {
 protected:
  ScratchCubinsTest() { EXPECT_EQ(setenv("TMPDIR", temp_.path().c_str(), 1), 0); }
  ~ScratchCubinsTest() override { EXPECT_EQ(unsetenv("TMPDIR"), 0); }

  const TempFolder temp_;
};

TEST_F(ScratchCubinsTest, EachKeyHasTheBytesThatWereStoredLast) {
  ScratchCubins cubins;
  const std::string first = std::string("\177ELF\0\n binary", 13), second(100'000, 'x');
  cubins.store("a", first);
  cubins.store("b", second);
  cubins.store("none", "");
  EXPECT_EQ(cubins.load("a"), first);
  EXPECT_EQ(cubins.load("b"), second);
  EXPECT_EQ(cubins.load("none"), "");
  cubins.store("a", "anew");
  EXPECT_EQ(cubins.load("a"), "anew");
  EXPECT_EQ(cubins.load("b"), second);
  EXPECT_THROW(cubins.load("c"), std::out_of_range);
}

// As it is after any end of the process.
TEST_F(ScratchCubinsTest, NoFileOfTheTemporaryFolderBearsAName) {
  ScratchCubins cubins;
  cubins.store("a", std::string(100'000, 'x'));
  EXPECT_TRUE(std::filesystem::is_empty(temp_.path()));
}

TEST_F(ScratchCubinsTest, WhereTheFolderIsFullTheErrorNamesItAndWhatWasStoredStays) {
  ScratchCubins cubins;
  cubins.store("a", "kept");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{4096, before.rlim_max};  // a larger file fails as on a full disk
  const auto on_signal = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT([&] { cubins.store("b", std::string(100'000, 'x')); },
              ThrowsMessage<DeviceError>(testing::AllOf(testing::HasSubstr(temp_.path().string()),
                                                        testing::HasSubstr("TMPDIR"))));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, on_signal);
  EXPECT_EQ(cubins.load("a"), "kept");
  EXPECT_THROW(cubins.load("b"), std::out_of_range);
}

}  // namespace
}  // namespace gemm_tune
