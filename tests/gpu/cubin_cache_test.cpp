#include "gpu/cubin_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CubinCacheTest : public ::testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path();
  const std::string cubin_ = std::string("\177ELF\0\n binary", 13);
};

TEST_F(CubinCacheTest, ReturnsWhatWasStoredAlsoToAnotherObject) {
  ASSERT_TRUE(CubinCache(directory_).store("key", cubin_));
  EXPECT_EQ(CubinCache(directory_).load("key"), cubin_);
}

TEST_F(CubinCacheTest, AKeyNeverStoredIsAbsent) {
  EXPECT_EQ(CubinCache(directory_).load("key"), std::nullopt);
}

TEST_F(CubinCacheTest, ALaterStoreReplacesAnEarlierOneAndLeavesOneFile) {
  const CubinCache cache(directory_);
  ASSERT_TRUE(cache.store("key", "first"));
  ASSERT_TRUE(cache.store("key", "second, longer"));
  EXPECT_EQ(cache.load("key"), "second, longer");
  EXPECT_EQ(files(), 1U);
}

TEST_F(CubinCacheTest, MakesMissingDirectories) {
  const CubinCache cache(directory_ / "a" / "b");
  ASSERT_TRUE(cache.store("key", cubin_));
  EXPECT_EQ(cache.load("key"), cubin_);
}

TEST_F(CubinCacheTest, AFileCutShortAnywhereCountsAsAbsent) {
  const CubinCache cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  for (auto size = std::filesystem::file_size(cache.file("key")); size-- > 0;) {
    std::filesystem::resize_file(cache.file("key"), size);
    ASSERT_EQ(cache.load("key"), std::nullopt) << size << " bytes left";
  }
}

TEST_F(CubinCacheTest, AFileWithOneByteChangedCountsAsAbsent) {
  const CubinCache cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  const auto size = std::filesystem::file_size(cache.file("key"));
  for (std::uintmax_t at = 0; at < size; ++at) {
    ASSERT_TRUE(cache.store("key", cubin_));
    std::fstream file(cache.file("key"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    ASSERT_EQ(cache.load("key"), std::nullopt) << "byte " << at;
  }
}

TEST_F(CubinCacheTest, TrailingBytesCountAsDamage) {
  const CubinCache cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  std::ofstream(cache.file("key"), std::ios::app) << "more";
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(CubinCacheTest, AFileOfAnotherKeyUnderThisNameCountsAsAbsent) {
  const CubinCache cache(directory_);
  ASSERT_TRUE(cache.store("one key", cubin_));
  std::filesystem::rename(cache.file("one key"), cache.file("two key"));
  EXPECT_EQ(cache.load("two key"), std::nullopt);
}

TEST_F(CubinCacheTest, WritersOfOneKeyLeaveAWholeFile) {
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([this, letter] {
      const CubinCache cache(directory_);
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(cache.store("key", std::string(10000, letter)));
        const auto loaded = cache.load("key");
        ASSERT_TRUE(loaded.has_value());
        EXPECT_EQ(*loaded, std::string(10000, loaded->front()));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(files(), 1U);
}

TEST_F(CubinCacheTest, AFileInPlaceOfTheDirectoryIsRefusedByName) {
  std::ofstream(directory_ / "file") << "text";
  EXPECT_THAT([this] { CubinCache cache(directory_ / "file"); },
              ThrowsMessage<Error>(HasSubstr((directory_ / "file").string())));
}

TEST_F(CubinCacheTest, ADirectoryThatVanishedMakesStoreFail) {
  const CubinCache cache(directory_);
  std::filesystem::remove_all(directory_);
  EXPECT_FALSE(cache.store("key", cubin_));
}

}  // namespace
}  // namespace gemm_tune
