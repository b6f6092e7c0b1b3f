// SPDX-License-Identifier: Apache-2.0
#include "core/input_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>
#include <thread>

#include "core/error.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& path, std::size_t most_bytes = kMostTextBytes) {
  try {
    read_input_file(path, "size file", most_bytes);
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
  EXPECT_EQ(read_input_file(path, "size file").size(), 300'000u);
  writer.join();
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
  EXPECT_THAT(refusal(path), HasSubstr("is a pipe that has sent nothing for 10 s"));
}

TEST(InputFileTest, APipeWithoutEndIsRefusedAtItsBound) {
  const TempFolder folder;
  const std::string path = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  FILE* const yes = popen(("timeout 60 yes > '" + path + "' 2>/dev/null").c_str(), "w");
  ASSERT_NE(yes, nullptr);
  EXPECT_THAT(refusal(path, 1'000'000), HasSubstr("is longer than 1 MB"));
  pclose(yes);
}

}  // namespace
}  // namespace gemm_tune
