// SPDX-License-Identifier: Apache-2.0
#include "core/files/input_file.h"

#include <sys/stat.h>

#include <cstdio>
#include <thread>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::minutes kPatience{10};

std::string refusal(const std::string& path, std::size_t most_bytes = kMostTextBytes,
                    std::chrono::seconds pipe_wait = kPatience) {
  try {
    read_input_file(path, "size file", most_bytes, pipe_wait);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(InputFileTest, ReadsAFileUpToItsBound) {
  const TempFolder folder;
  const std::string path = (folder.path() / "sizes").string();
  write_file(path, std::string(200'000, '7'));
  EXPECT_EQ(read_input_file(path, "size file", 200'000), std::string(200'000, '7'));
  EXPECT_THAT(refusal(path, 199'999), HasSubstr("size file '" + path + "' is longer than"));
}

TEST(InputFileTest, ReadsAPipeToItsEnd) {
  const TempFolder folder;
  const std::string path = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { write_file(path, std::string(300'000, 'x')); });
  EXPECT_EQ(read_input_file(path, "size file", kMostTextBytes, kPatience).size(), 300'000u);
  writer.join();
}

TEST(InputFileTest, ATextThatIsNoneIsRefusedWithWhatWouldBeRight) {
  const TempFolder folder;
  const std::string path = (folder.path() / "sizes").string();
  const auto refusal_of = [&](const std::string& bytes) -> std::string {
    write_file(path, bytes);
    try {
      return read_text_file(path, "size file") == bytes ? "" : "changed";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal_of("1024\n"), "");
  EXPECT_EQ(refusal_of(""), "");
  EXPECT_EQ(refusal_of("\xef\xbb\xbf"
                       "1024\n"),
            "");
  const std::string named = "size file '" + path + "' is ";
  EXPECT_THAT(refusal_of("\x1f\x8b\x08"), HasSubstr(named + "compressed by gzip"));
  EXPECT_THAT(refusal_of(std::string("\xfd"
                                     "7zXZ\0\0",
                                     7)),
              HasSubstr("compressed by xz"));
  EXPECT_THAT(refusal_of("\x28\xb5\x2f\xfd$"), HasSubstr("compressed by zstd"));
  EXPECT_THAT(refusal_of("BZh91AY"), HasSubstr("compressed by bzip2"));
  EXPECT_THAT(refusal_of("PK\x03\x04"), HasSubstr("zip archive"));
  EXPECT_THAT(refusal_of(std::string("SQLite format 3\0\x10", 17)), HasSubstr("db merge"));
  EXPECT_THAT(refusal_of(std::string("\xff\xfe"
                                     "1\0",
                                     4)),
              HasSubstr("save it as UTF-8"));
  EXPECT_THAT(refusal_of(std::string("1\0"
                                     "0\0",
                                     4)),
              HasSubstr("byte 2 is zero"));
}

TEST(InputFileTest, RefusesWhatHasNoEndOrIsNoFile) {
  const TempFolder folder;
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("'/dev/zero' is neither a regular file nor a pipe"));
  EXPECT_THAT(refusal(folder.path().string()), HasSubstr("is a directory"));
  EXPECT_THAT(refusal((folder.path() / "none").string()),
              HasSubstr("cannot be read: No such file"));
}

TEST(InputFileTest, APipeWithoutAWriterIsRefusedInTime) {
  const TempFolder folder;
  const std::string path = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(path, 1, std::chrono::seconds(0)),
              HasSubstr("'" + path + "' is a pipe that has sent nothing for 0 s"));
}

TEST(InputFileTest, APipeWithoutEndIsRefusedAtItsBound) {
  const TempFolder folder;
  const std::string path = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  FILE* const yes = popen(("timeout 600 yes > '" + path + "' 2>/dev/null").c_str(), "w");
  ASSERT_NE(yes, nullptr);
  EXPECT_THAT(refusal(path, 1'000'000), HasSubstr("is longer than 1 MB"));
  pclose(yes);
}

}  // namespace
}  // namespace gemm_tune
