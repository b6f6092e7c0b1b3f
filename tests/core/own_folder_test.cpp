// SPDX-License-Identifier: Apache-2.0
#include "core/files/own_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <system_error>

#include "tests/killed_owner.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class OwnFolderTest : public testing::Test {
 protected:
  long count() const {
    return std::distance(fs::directory_iterator(parent()), fs::directory_iterator());
  }
  fs::path parent() const { return temp_.path(); }

 private:
  const TempFolder temp_;
};

TEST_F(OwnFolderTest, GoesWithAllFilesInItExceptThoseThatWereMovedOut) {
  {
    const OwnFolder folder(parent(), "mine");
    EXPECT_TRUE(folder.path().filename().string().starts_with("mine-"));
    write_file(folder.path() / "kept", "whole");
    write_file(folder.path() / "lost", "half");
    fs::rename(folder.path() / "kept", parent() / "kept");
  }
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(read_file(parent() / "kept"), "whole");
}

TEST_F(OwnFolderTest, AFileInItGetsTheRightsOfAnyNewFile) {
  const mode_t before = umask(027);
  const OwnFolder folder(parent(), "mine");
  write_file(folder.path() / "new", "");
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat((folder.path() / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(OwnFolderTest, OneWhoseOwnerWasKilledIsRemovedByTheNextOneAndThatOfALivingOwnerStays) {
  leave_folder_of_killed_owner(parent(), "mine", {"half"});
  ASSERT_EQ(count(), 1);
  const OwnFolder first(parent(), "mine");
  EXPECT_EQ(count(), 1);
  const OwnFolder second(parent(), "mine");
  EXPECT_EQ(count(), 2);
  EXPECT_TRUE(fs::exists(first.path()));
}

TEST_F(OwnFolderTest, OneThatIsJustBeingMadeStaysAndOneThatNeverWasFinishedDoesNot) {
  fs::create_directory(parent() / "mine-making");
  fs::create_directory(parent() / "mine-killed");
  fs::last_write_time(parent() / "mine-killed",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  const OwnFolder folder(parent(), "mine");
  EXPECT_TRUE(fs::exists(parent() / "mine-making"));
  EXPECT_FALSE(fs::exists(parent() / "mine-killed"));
}

TEST_F(OwnFolderTest, FoldersOfTheUsersOwnStayWhateverTheyHold) {
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const char* name : {"mine-photos", "mine-backups", "mine-tables"}) {
    fs::create_directory(parent() / name);
    write_file(parent() / name / "file", "dear");
  }
  write_file(parent() / "mine-tables" / "lock", "");
  for (const char* name : {"mine-photos", "mine-backups", "mine-tables"}) {
    fs::last_write_time(parent() / name, hours_ago);
  }
  const OwnFolder folder(parent(), "mine");
  for (const char* name : {"mine-photos", "mine-backups", "mine-tables"}) {
    EXPECT_EQ(read_file(parent() / name / "file"), "dear") << name;
  }
}

TEST_F(OwnFolderTest, WhereNoneCanBeMadeTheSystemsErrorIsThrown) {
  EXPECT_THROW(OwnFolder(parent() / "nowhere", "mine"), std::system_error);
}

}  // namespace
}  // namespace gemm_tune
