// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/error.h"
#include "tests/killed_owner.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(temp_.path())) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }

  static unsigned mode(const std::string& file) {
    struct stat info {};
    EXPECT_EQ(lstat(file.c_str(), &info), 0) << file;
    return info.st_mode;
  }

  const TempFolder temp_;
};

TEST_F(OutputFileTest, ARegularFileIsReplacedAndKeepsItsMode) {
  write_file(path("out"), "a longer old text");
  chmod(path("out").c_str(), 0640);
  require_writable(path("out"));
  EXPECT_EQ(read_file(path("out")), "a longer old text");
  write_output(path("out"), "new");
  EXPECT_EQ(read_file(path("out")), "new");
  EXPECT_EQ(mode(path("out")) & 0777, 0640u);
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(OutputFileTest, ANewFileGetsTheModeOfAnyNewFile) {
  const mode_t before = umask(027);
  write_output(path("out"), std::string("\0binary", 7));
  umask(before);
  EXPECT_EQ(read_file(path("out")), std::string("\0binary", 7));
  EXPECT_EQ(mode(path("out")) & 0777, 0640u);
}

TEST_F(OutputFileTest, TheHalfFileOfAKilledWriterIsRemovedByTheNextOne) {
  leave_folder_of_killed_owner(temp_.path(), ".gemm-tune", {"new"});
  ASSERT_EQ(names().size(), 1u);
  write_output(path("out"), "new");
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(OutputFileTest, ADatabaseIsNotReplaced) {
  const std::string database("SQLite format 3\0rows", 20);
  write_file(path("t.db"), database);
  fs::create_symlink(path("t.db"), path("link"));
  for (const char* name : {"t.db", "link"}) {
    EXPECT_THAT([&] { require_writable(path(name)); },
                ThrowsMessage<UsageError>(HasSubstr("is a database, which is not replaced")));
    EXPECT_THROW(write_output(path(name), "text"), UsageError);
  }
  EXPECT_EQ(read_file(path("t.db")), database);
}

TEST_F(OutputFileTest, TheJournalsOfADatabaseAreNotWritten) {
  write_file(path("t.db"), std::string("SQLite format 3\0rows", 20));
  write_file(path("text"), "no database");
  fs::create_symlink(path("t.db-wal"), path("link"));
  for (const char* name : {"t.db-wal", "t.db-shm", "t.db-journal", "link"}) {
    EXPECT_THAT([&] { require_writable(path(name)); },
                ThrowsMessage<UsageError>(HasSubstr("changes of the database")));
    EXPECT_THROW(write_output(path(name), "text"), UsageError);
    EXPECT_FALSE(fs::exists(path(name)));
  }
  for (const char* name : {"t.db-wal/", "t.db-wal/folder", "t.db-journal/a/b"}) {
    EXPECT_THROW(require_no_journal(path(name)), UsageError) << name;
  }
  for (const char* name : {"text-wal", "none-shm", "-wal", "t.db-wall"}) {
    require_no_journal(path(name));
    write_output(path(name), "text");
  }
}

TEST_F(OutputFileTest, WhatTheCommandReadsIsNotWritten) {
  write_file(path("log"), "calls");
  fs::create_symlink(path("log"), path("link"));
  fs::create_directory(path("kernels"));
  for (const char* name : {"log", "link", "kernels/new.cuh"}) {
    EXPECT_THAT(
        [&] {
          require_writable(path(name), {"", path("log"), path("kernels")});
        },
        ThrowsMessage<UsageError>(HasSubstr("is read by this command")));
  }
  require_writable(path("log2"), {"", path("log"), path("kernels")});
  require_writable("/dev/null", {"/dev/null"});
}

TEST_F(OutputFileTest, ARelativeNameIsOneInTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(temp_.path());
  write_output("out", "new");
  fs::current_path(before);
  EXPECT_EQ(read_file(path("out")), "new");
}

TEST_F(OutputFileTest, NoOtherFileIsTouched) {
  write_file(path("mine"), "mine");
  write_file(path("out"), "old");
  write_file(path("out.partial"), "mine too");
  fs::create_symlink(path("mine"), path("new.partial"));
  write_output(path("out"), "new");
  write_output(path("new"), "new");
  EXPECT_EQ(read_file(path("mine")), "mine");
  EXPECT_EQ(read_file(path("out.partial")), "mine too");
  EXPECT_EQ(names(), (std::set<std::string>{"mine", "new", "new.partial", "out", "out.partial"}));
}

TEST_F(OutputFileTest, ASymbolicLinkStaysOneAndItsTargetIsReplaced) {
  fs::create_directory(path("folder"));
  write_file(path("folder/target"), "old");
  fs::create_symlink("target", path("folder/link"));
  fs::create_symlink("folder/link", path("link to the link"));
  fs::create_hard_link(path("folder/target"), path("same file"));
  write_output(path("link to the link"), "new");
  EXPECT_EQ(read_file(path("folder/target")), "new");
  EXPECT_EQ(read_file(path("same file")), "old") << "the target was written to, not replaced";
  EXPECT_TRUE(S_ISLNK(mode(path("folder/link"))));
  EXPECT_TRUE(S_ISLNK(mode(path("link to the link"))));

  fs::create_symlink("folder/not yet", path("dangling"));
  write_output(path("dangling"), "made");
  EXPECT_TRUE(S_ISLNK(mode(path("dangling"))));
  EXPECT_EQ(read_file(path("folder/not yet")), "made");
}

// Through a link, so that a failure of this test costs a link and no device.
TEST_F(OutputFileTest, ADeviceIsWrittenTo) {
  fs::create_symlink("/dev/null", path("null"));
  fs::create_symlink("/dev/full", path("full"));
  write_output(path("null"), "bytes");
  EXPECT_TRUE(S_ISLNK(mode(path("null"))));
  EXPECT_TRUE(S_ISCHR(mode("/dev/null")));
  EXPECT_THAT(
      [&] { write_output(path("full"), "bytes"); },
      ThrowsMessage<OutputError>(HasSubstr("full' cannot be written: No space left on device")));
  EXPECT_TRUE(S_ISCHR(mode("/dev/full")));
}

TEST_F(OutputFileTest, AFifoIsWrittenTo) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_output(path("fifo"), "bytes");
  char buffer[16];
  EXPECT_EQ(read(reader, buffer, sizeof buffer), 5);
  close(reader);
  EXPECT_TRUE(S_ISFIFO(mode(path("fifo"))));
}

// As a shell's 3>>file gives one.
TEST_F(OutputFileTest, AnotherOpenFileIsAppendedTo) {
  write_file(path("log"), "first\n");
  const int log = open(path("log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(log, 0);
  write_output("/dev/fd/" + std::to_string(log), "second\n");
  close(log);
  EXPECT_EQ(read_file(path("log")), "first\nsecond\n");
  EXPECT_EQ(names(), std::set<std::string>{"log"});
}

TEST_F(OutputFileTest, AWriteThatFailsLeavesTheOldFileWholeAndNoOther) {
  write_file(path("out"), "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{4096, before.rlim_max};
  const auto on_signal = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT([&] { write_output(path("out"), std::string(100'000, 'x')); },
              ThrowsMessage<OutputError>(AllOf(HasSubstr(path("out")), HasSubstr("too large"))));
  EXPECT_THROW(write_output(path("new"), std::string(100'000, 'x')), OutputError);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, on_signal);
  EXPECT_EQ(read_file(path("out")), "old");
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(OutputFileTest, WhatCannotBeAFileIsRefusedByName) {
  const auto expect_refusal = [](const std::string& name, const std::string& text) {
    EXPECT_THAT([&] { write_output(name, "bytes"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("'" + name + "'"), HasSubstr(text))));
    EXPECT_THROW(require_writable(name), UsageError) << name;
  };
  fs::create_directory(path("folder"));
  fs::create_symlink("folder", path("to the folder"));
  fs::create_symlink("circle", path("circle"));
  write_file(path("file"), "old");
  for (const auto& [name, text] :
       std::map<std::string, std::string>{{"folder", "it is a directory; name a file in it"},
                                          {"to the folder", "it is a directory"},
                                          {"no/folder", "No such file or directory"},
                                          {"file/in it", "Not a directory"},
                                          {"circle", "Too many levels of symbolic links"}}) {
    expect_refusal(path(name), text);
  }
  EXPECT_THROW(write_output("/proc/gemm-tune", "bytes"), UsageError);  // by root too
}

}  // namespace
}  // namespace gemm_tune
