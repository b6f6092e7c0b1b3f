// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_store.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using std::filesystem::perms;

class KernelStoreTest : public ::testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path();
  const std::string cubin_ = std::string("\177ELF\0\n binary", 13);
};

TEST_F(KernelStoreTest, ReturnsWhatWasStoredAlsoToAnotherObject) {
  ASSERT_TRUE(KernelStore(directory_).store("key", cubin_));
  EXPECT_EQ(KernelStore(directory_).load("key"), cubin_);
}

// Folders that earlier versions filled serve on.
TEST_F(KernelStoreTest, NamesAndHashesAreThoseOfEarlierVersions) {
  const KernelStore cache(directory_);
  EXPECT_EQ(cache.file("key").filename(), "3dc94a19365b10ec.cubin");
  std::ofstream(cache.file("key")) << "gemm-tune cubin 2 3 5 3d75ac1a23032511\nkeycubin";
  std::filesystem::permissions(cache.file("key"), perms::owner_read);
  EXPECT_EQ(cache.load("key"), "cubin");
}

TEST_F(KernelStoreTest, AKeyNeverStoredIsAbsent) {
  EXPECT_EQ(KernelStore(directory_).load("key"), std::nullopt);
}

TEST_F(KernelStoreTest, ALaterStoreReplacesAnEarlierOneAndLeavesOneFile) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", "first"));
  ASSERT_TRUE(cache.store("key", "second, longer"));
  EXPECT_EQ(cache.load("key"), "second, longer");
  EXPECT_EQ(files(), 1U);
}

TEST_F(KernelStoreTest, MakesMissingDirectories) {
  const KernelStore cache(directory_ / "a" / "b");
  ASSERT_TRUE(cache.store("key", cubin_));
  EXPECT_EQ(cache.load("key"), cubin_);
}

TEST_F(KernelStoreTest, AFileCutShortAnywhereCountsAsAbsent) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  for (auto size = std::filesystem::file_size(cache.file("key")); size-- > 0;) {
    std::filesystem::resize_file(cache.file("key"), size);
    ASSERT_EQ(cache.load("key"), std::nullopt) << size << " bytes left";
  }
}

TEST_F(KernelStoreTest, AFileWithOneByteChangedCountsAsAbsent) {
  const KernelStore cache(directory_);
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

TEST_F(KernelStoreTest, TrailingBytesCountAsDamage) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  std::ofstream(cache.file("key"), std::ios::app) << "more";
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(KernelStoreTest, AFileFarLargerThanAKernelCountsAsAbsent) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  std::filesystem::resize_file(cache.file("key"), std::uintmax_t{1} << 40);  // sparse
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(KernelStoreTest, AFileOfAnotherKeyUnderThisNameCountsAsAbsent) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("one key", cubin_));
  std::filesystem::rename(cache.file("one key"), cache.file("two key"));
  EXPECT_EQ(cache.load("two key"), std::nullopt);
}

TEST_F(KernelStoreTest, WritersOfOneKeyLeaveAWholeFile) {
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([this, letter] {
      const KernelStore cache(directory_);
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

TEST_F(KernelStoreTest, AFileInPlaceOfTheDirectoryIsRefusedByName) {
  std::ofstream(directory_ / "file") << "text";
  EXPECT_THAT([this] { KernelStore cache(directory_ / "file"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr((directory_ / "file").string()),
                                              HasSubstr("it is no directory"))));
}

TEST_F(KernelStoreTest, ADirectoryThatCannotBeMadeIsRefusedByNameAndReason) {
  std::ofstream(directory_ / "file") << "text";
  EXPECT_THAT([this] { KernelStore cache(directory_ / "file" / "cache"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr((directory_ / "file" / "cache").string()),
                                              HasSubstr("Not a directory"))));
  EXPECT_THAT([] { KernelStore cache(""); },
              ThrowsMessage<UsageError>(HasSubstr("'' cannot serve as kernel cache")));
}

TEST_F(KernelStoreTest, MakesTheDirectoryForItsOwnerAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const KernelStore cache(directory_ / "cache" / "");
  ASSERT_TRUE(cache.store("key", cubin_));
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(directory_ / "cache").permissions(), perms::owner_all);
  EXPECT_EQ(std::filesystem::status(cache.file("key")).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(KernelStoreTest, ADirectoryThatGroupOrOthersMayWriteToIsRefused) {
  for (const perms extra : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(directory_, perms::owner_all | extra);
    EXPECT_THAT(
        [this] { KernelStore cache(directory_); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr(directory_.string()), HasSubstr("chmod go-w"))));
  }
}

TEST_F(KernelStoreTest, ADirectoryThatOthersMayReadServes) {
  std::filesystem::permissions(directory_,
                               perms::owner_all | perms::group_read | perms::others_read);
  ASSERT_TRUE(KernelStore(directory_).store("key", cubin_));
  EXPECT_EQ(KernelStore(directory_).load("key"), cubin_);
}

TEST_F(KernelStoreTest, AFileThatGroupOrOthersMayWriteToCountsAsAbsent) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  for (const perms extra : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(cache.file("key"), perms::owner_read | extra);
    EXPECT_EQ(cache.load("key"), std::nullopt);
  }
  std::filesystem::permissions(cache.file("key"), perms::owner_read);
  EXPECT_EQ(cache.load("key"), cubin_);
}

TEST_F(KernelStoreTest, ASymbolicLinkInPlaceOfAFileCountsAsAbsentAndIsReplacedNotFollowed) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  std::filesystem::rename(cache.file("key"), directory_ / "elsewhere");
  std::filesystem::create_symlink(directory_ / "elsewhere", cache.file("key"));
  EXPECT_EQ(cache.load("key"), std::nullopt);
  ASSERT_TRUE(cache.store("key", "another"));
  EXPECT_EQ(cache.load("key"), "another");
  EXPECT_FALSE(std::filesystem::is_symlink(cache.file("key")));
}

TEST_F(KernelStoreTest, APipeInPlaceOfAFileCountsAsAbsentAtOnce) {
  const KernelStore cache(directory_);
  ASSERT_EQ(::mkfifo(cache.file("key").c_str(), 0600), 0);
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(KernelStoreTest, ADirectoryPutInItsPlaceLaterIsNotReadFrom) {
  const KernelStore cache(directory_ / "cache");
  const auto file = cache.file("key");
  std::filesystem::rename(directory_ / "cache", directory_ / "moved");
  ASSERT_TRUE(KernelStore(directory_ / "cache").store("key", "planted"));
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

class BoundedKernelStoreTest : public KernelStoreTest {
 protected:
  // As if the key's file had been used so many days ago.
  void age(const std::string& key, int days) const {
    std::filesystem::last_write_time(
        cache_.file(key), std::filesystem::file_time_type::clock::now() - days * 24h - 1h);
  }

  double hours_since_use(const std::string& key) const {
    const auto age = std::filesystem::file_time_type::clock::now() -
                     std::filesystem::last_write_time(cache_.file(key));
    return std::chrono::duration<double, std::ratio<3600>>(age).count();
  }

  // Room for eight files of these bytes, but not for nine.
  const std::string kilobyte_ = std::string(1000, 'x');
  const KernelStore cache_{directory_, 9000};
};

TEST_F(BoundedKernelStoreTest, RemovesWhatWasUnusedForLongestWhereItGrowsBeyondItsBound) {
  for (int i = 1; i <= 8; ++i) {
    ASSERT_TRUE(cache_.store("key " + std::to_string(i), kilobyte_));
    age("key " + std::to_string(i), 10 + i);
  }
  ASSERT_EQ(files(), 8U);
  ASSERT_TRUE(cache_.load("key 8"));  // the oldest, now just used
  ASSERT_TRUE(cache_.store("key 9", kilobyte_));
  EXPECT_EQ(files(), 7U);  // an eighth of the bound is spare
  for (const char* kept : {"key 1", "key 5", "key 8", "key 9"}) {
    EXPECT_EQ(cache_.load(kept), kilobyte_) << kept;
  }
  EXPECT_EQ(cache_.load("key 6"), std::nullopt);
  EXPECT_EQ(cache_.load("key 7"), std::nullopt);
}

TEST_F(BoundedKernelStoreTest, WhatWasJustStoredStaysWhateverTheTimesOfTheOthers) {
  for (int i = 1; i <= 8; ++i) {
    ASSERT_TRUE(cache_.store("key " + std::to_string(i), kilobyte_));
    age("key " + std::to_string(i), -10);  // of a machine whose clock is ahead
  }
  ASSERT_TRUE(cache_.store("key 9", kilobyte_));
  EXPECT_EQ(cache_.load("key 9"), kilobyte_);
}

TEST_F(BoundedKernelStoreTest, FilesOfOtherNamesAreNeitherCountedNorRemoved) {
  const std::string mine[] = {"notes.txt", "0123456789abcdef.cubin.old", "0123456789ABCDEF.cubin",
                              "writing-home.txt"};
  for (const std::string& name : mine) {
    std::ofstream(directory_ / name) << std::string(20000, 'x');
    std::filesystem::last_write_time(directory_ / name, std::filesystem::file_time_type());
  }
  std::filesystem::create_directory(directory_ / "0123456789abcdef.cubin");
  ASSERT_TRUE(cache_.store("key", kilobyte_));
  ASSERT_TRUE(cache_.store("another", kilobyte_));
  EXPECT_EQ(files(), std::size(mine) + 3);
}

TEST_F(BoundedKernelStoreTest, RemovesWhatADeadWriterLeftButNotWhatOneIsWriting) {
  std::ofstream(directory_ / "writing-1-2-3-4") << "dead";
  std::ofstream(directory_ / "writing-5-6-7-8") << "alive";
  std::filesystem::last_write_time(directory_ / "writing-1-2-3-4",
                                   std::filesystem::file_time_type::clock::now() - 25h);
  ASSERT_TRUE(cache_.store("key", kilobyte_));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "writing-1-2-3-4"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "writing-5-6-7-8"));
}

TEST_F(BoundedKernelStoreTest, AUseIsRecordedOnceADay) {
  ASSERT_TRUE(cache_.store("key", kilobyte_));
  age("key", 0);
  ASSERT_TRUE(cache_.load("key"));
  EXPECT_GT(hours_since_use("key"), 0.9);
  age("key", 1);
  ASSERT_TRUE(cache_.load("key"));
  EXPECT_LT(hours_since_use("key"), 0.1);
}

TEST_F(BoundedKernelStoreTest, ManyWritersStayWithinTheBoundAndReadWholeFiles) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([this, writer] {
      const KernelStore cache(directory_, 9000);
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(writer) + " " + std::to_string(i);
        EXPECT_TRUE(cache.store(key, kilobyte_));
        EXPECT_EQ(cache.load(key).value_or(kilobyte_), kilobyte_);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_LE(files(), 8U);
  EXPECT_GE(files(), 1U);
}

TEST(DefaultKernelCache, FollowsTheXdgSpecification) {
  EXPECT_EQ(default_kernel_cache("/xdg", "/home/u"), "/xdg/gemm-tune");
  EXPECT_EQ(default_kernel_cache(nullptr, "/home/u"), "/home/u/.cache/gemm-tune");
  EXPECT_EQ(default_kernel_cache("", "/home/u"), "/home/u/.cache/gemm-tune");
  EXPECT_EQ(default_kernel_cache("relative", "/home/u"), "/home/u/.cache/gemm-tune");
  EXPECT_EQ(default_kernel_cache(nullptr, nullptr), std::nullopt);
  EXPECT_EQ(default_kernel_cache(nullptr, ""), std::nullopt);
}

TEST(WhyUntrusted, TrustsTheUserAndRootWhereNobodyElseMayWrite) {
  EXPECT_EQ(why_untrusted(1000, 0700, 1000), std::nullopt);
  EXPECT_EQ(why_untrusted(1000, 0755, 1000), std::nullopt);
  EXPECT_EQ(why_untrusted(0, 0755, 1000), std::nullopt);
  EXPECT_EQ(why_untrusted(0, 0700, 0), std::nullopt);
}

TEST(WhyUntrusted, RefusesAnotherUsersAlsoToRoot) {
  EXPECT_THAT(why_untrusted(1001, 0700, 1000).value_or(""),
              HasSubstr("belongs to user 1001, and this process to user 1000"));
  EXPECT_NE(why_untrusted(1001, 0700, 0), std::nullopt);
}

TEST(WhyUntrusted, RefusesWhatGroupOrOthersMayWriteToEvenOfRoot) {
  EXPECT_THAT(why_untrusted(1000, 0770, 1000).value_or(""), HasSubstr("chmod go-w"));
  EXPECT_NE(why_untrusted(1000, 0702, 1000), std::nullopt);
  EXPECT_NE(why_untrusted(0, 01777, 1000), std::nullopt);
}

// What is thrown where no more file can be opened.
std::exception_ptr without_descriptors(const std::function<void()>& act) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int first = dup(STDERR_FILENO);
  close(first);
  const rlimit none{static_cast<rlim_t>(first), limit.rlim_max};
  std::exception_ptr thrown;
  // UBSan opens a pipe to look at an object's dynamic type, but once for each type only.
  for (const auto* category : {&std::generic_category(), &std::system_category()}) {
    EXPECT_FALSE(category->message(EMFILE).empty());
  }
  setrlimit(RLIMIT_NOFILE, &none);
  try {
    act();
  } catch (...) {  // UBSan needs descriptors to look at it
    thrown = std::current_exception();
  }
  setrlimit(RLIMIT_NOFILE, &limit);
  return thrown;
}

TEST_F(KernelStoreTest, TooManyOpenFilesAreTheEnvironmentsFailureWhoeverNamedTheDirectory) {
  // Not the member: UBSan would look at the type of `this`.
  const std::filesystem::path folder = directory_;
  const auto thrown = without_descriptors([&] { const KernelStore store(folder); });
  ASSERT_TRUE(thrown);
  EXPECT_THAT(
      [&] { std::rethrow_exception(thrown); },
      ThrowsMessage<DeviceError>(AllOf(HasSubstr(directory_.string()), HasSubstr("ulimit -n"))));
}

TEST_F(KernelStoreTest, WhereTheDiskIsFullStoreFailsAndWhatLiesThereStays) {
  const KernelStore cache(directory_);
  ASSERT_TRUE(cache.store("key", cubin_));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{4096, before.rlim_max};  // a larger file fails as on a full disk
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_FALSE(cache.store("key", std::string(100'000, 'x')));
  EXPECT_FALSE(cache.store("another key", std::string(100'000, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(cache.load("key"), cubin_);
  EXPECT_EQ(cache.load("another key"), std::nullopt);
  EXPECT_EQ(files(), 1u);
}

TEST_F(KernelStoreTest, ADirectoryThatVanishedMakesStoreFail) {
  const KernelStore cache(directory_);
  std::filesystem::remove_all(directory_);
  EXPECT_FALSE(cache.store("key", cubin_));
}

}  // namespace
}  // namespace gemm_tune
