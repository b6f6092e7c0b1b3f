// SPDX-License-Identifier: Apache-2.0
// An upgrade that is killed, disturbed or out of space leaves version 1 or version 4, complete.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "core/error.h"
#include "tests/db/child_process.h"
#include "tests/db/version_1_file.h"
#include "tests/rounds.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class UpgradeFaultsTest : public Version1Test {
 protected:
  UpgradeFaultsTest() { enlarge(); }

  void set_journal(const std::string& mode) const { change("PRAGMA journal_mode = " + mode); }

  // Whole, of the version that it says: its number.
  std::string version_with_all_rows() const {
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    const std::string version = ask("PRAGMA user_version");
    EXPECT_THAT(version, AnyOf("1", "4"));
    EXPECT_EQ(ask(version == "1" ? "SELECT count(*) FROM candidates"
                                 : "SELECT count(*) FROM measurements"),
              "2294");
    EXPECT_EQ(ask("SELECT count(*) FROM baselines"), "4");
    EXPECT_EQ(ask("SELECT count(*) FROM runs"), "3");
    return version;
  }

  // The process that opens the file, in `mode`; its exit status is 0 where that succeeds.
  pid_t start_opening(Mode mode) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const std::string said = refusal(mode);
    if (!said.empty()) fprintf(stderr, "%s\n", said.c_str());
    _exit(said.empty() ? 0 : 1);
  }

  // Replaces the file by the one of version 1.
  void restore(const fs::path& original) const {
    for (const char* side : {"", "-wal", "-shm", "-journal"}) fs::remove(file_.string() + side);
    fs::copy_file(original, file_);
  }

  void kill_upgrades(const std::string& journal) const {
    set_journal(journal);
    const fs::path original = folder_ / "original.db";
    fs::copy_file(file_, original);
    const auto start = steady_clock::now();
    ASSERT_EQ(refusal(), "");
    const auto whole = std::chrono::duration_cast<microseconds>(steady_clock::now() - start);
    std::mt19937 random(1);
    std::uniform_int_distribution<microseconds::rep> moment(0, whole.count() * 5 / 4);
    int killed = 0;
    const int kills = rounds(10, 50);
    for (int round = 0; round < kills; ++round) {
      restore(original);
      const pid_t child = start_opening(Mode::create_or_open);
      std::this_thread::sleep_for(microseconds(moment(random)));
      kill(child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status) || status == 0) << "round " << round;
      killed += WIFSIGNALED(status) ? 1 : 0;
      ASSERT_EQ(refusal(Mode::read_only), "") << "round " << round;
      version_with_all_rows();
      ASSERT_FALSE(HasFailure()) << "round " << round;
    }
    EXPECT_GE(killed, kills / 5) << "enough was at stake";
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(version_with_all_rows(), "4");
  }
};

TEST_F(UpgradeFaultsTest, KilledWithAWriteAheadLog) { kill_upgrades("WAL"); }

TEST_F(UpgradeFaultsTest, KilledWithARollbackJournal) { kill_upgrades("DELETE"); }

TEST_F(UpgradeFaultsTest, ProcessesThatOpenTheFileAtOnceAllSucceed) {
  const fs::path original = folder_ / "original.db";
  for (const char* journal : {"WAL", "DELETE"}) {
    if (fs::exists(original)) restore(original);
    set_journal(journal);
    fs::copy_file(file_, original, fs::copy_options::overwrite_existing);
    for (int round = 0; round < 5; ++round) {
      restore(original);
      std::vector<pid_t> children = {start_opening(Mode::create_or_open),
                                     start_opening(Mode::create_or_open)};
      // Readers come before, during and after the upgrade.
      for (int reader = 0; reader < 6; ++reader) {
        std::this_thread::sleep_for(std::chrono::milliseconds(15));
        children.push_back(start_opening(Mode::read_only));
      }
      for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << journal;
      }
      EXPECT_EQ(version_with_all_rows(), "4") << journal;
    }
  }
}

TEST_F(UpgradeFaultsTest, AFullDiskLeavesVersion1) {
  for (const char* journal : {"WAL", "DELETE"}) {
    set_journal(journal);
    EXPECT_THAT(in_child([&] {
                  limit_file_size(fs::file_size(file_) + 100'000);
                  return refusal();
                }),
                AllOf(StartsWith("database '" + file_.string() +
                                 "' cannot be written: the disk "
                                 "is full"),
                      Not(HasSubstr("child died"))));
    EXPECT_EQ(version_with_all_rows(), "1") << journal;
  }
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(version_with_all_rows(), "4");
}

}  // namespace
}  // namespace gemm_tune
