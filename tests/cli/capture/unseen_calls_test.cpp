// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/unseen_calls.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class UnseenCallsTest : public testing::Test {
 protected:
  // This test, as a program of its own.
  std::string program() const {
    const fs::path file = folder_.path() / "program";
    fs::copy("/proc/self/exe", file);
    return file.string();
  }

  const TempFolder folder_;
};

TEST_F(UnseenCallsTest, OfAnOrdinaryProgramTheAuditIsNamedUnlessThereWasOne) {
  const std::string file = program();
  EXPECT_EQ(why_unseen({file}, false),
            "; --audit sees also those of a program that finds cuBLAS by dlsym()");
  EXPECT_EQ(why_unseen({file}, true), "");
  EXPECT_EQ(why_unseen({"no-such-program"}, true), "");
  EXPECT_EQ(why_unseen({"/etc/passwd"}, true), "");
}

// As root, of another user's; as any other user there is no such file to make.
TEST_F(UnseenCallsTest, AProgramWithOtherRightsIsOneThatTheLoaderKeepsTheDropInOutOf) {
  const std::string file = program();
  if (chown(file.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  fs::permissions(file, fs::perms::set_uid | fs::perms::owner_all);
  EXPECT_EQ(why_unseen({file}, true),
            "; the loader keeps the drop-in out of '" + file +
                "', which runs with other rights than yours (setuid, setgid or capabilities): run "
                "a copy without them");
  fs::permissions(file, fs::perms::owner_all);
  EXPECT_EQ(why_unseen({file}, true), "");
}

TEST_F(UnseenCallsTest, AStaticProgramIsOneThatTheDropInDoesNotReach) {
  const std::string file = program();
  std::string bytes = read_file(file);
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    char* const at = &bytes[header.e_phoff + i * sizeof part];
    std::memcpy(&part, at, sizeof part);
    if (part.p_type != PT_INTERP) continue;
    part.p_type = PT_NULL;
    std::memcpy(at, &part, sizeof part);
  }
  write_file(file, bytes);
  EXPECT_EQ(why_unseen({file}, false),
            "; the drop-in reaches no program that is linked statically, as '" + file + "' is");
}

}  // namespace
}  // namespace gemm_tune
