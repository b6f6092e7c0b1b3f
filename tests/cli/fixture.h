// SPDX-License-Identifier: Apache-2.0
// Runs the program itself, as a user does, in a folder of the test's own.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "tests/default_signals.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

inline constexpr const char* kNaive = "naive/BM=16,BN=16,COALESCED=1,PRED=0";

// A search of one family with accesses of several widths, for tests to which the families that are
// tried do not matter: that of all families enumerates for a second.
inline constexpr const char* kOneFamily = " --config vectorized_2d ";

struct ProgramRun {
  int exit_code = -1;
  std::string output, errors;
};

// The text on one line, with one blank where lines were broken and columns were filled up.
inline std::string unbroken(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

class CliTest : public testing::Test {
 protected:
  CliTest() { use_default_signals(); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Without a GPU, whatever the machine has: what is tested here must hold everywhere. arguments
  // may redirect; before: shell text ahead of the program's name.
  ProgramRun run(const std::string& arguments, const std::string& before = "") const {
    return run_program(std::getenv("GT_PROGRAM"), arguments, before);
  }

  // program: shell text.
  ProgramRun run_program(const std::string& program, const std::string& arguments,
                         const std::string& before = "") const {
    const std::string command =
        before + " CUDA_VISIBLE_DEVICES= GEMM_TUNE_DB= XDG_DATA_HOME=" + path("xdg") +
        " XDG_CACHE_HOME=" + path("xdg-cache") + " " + program + " " + arguments + " 2>" +
        path("stderr");
    ProgramRun result;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> chunk{};
    for (std::size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
      result.output.append(chunk.data(), n);
    }
    result.exit_code = WEXITSTATUS(pclose(pipe));
    result.errors = read_file(path("stderr"));
    return result;
  }

  // Expects a refusal: the exit code, one sentence that holds the text, nothing on stdout.
  void expect_refusal(const std::string& arguments, int exit_code, const std::string& text,
                      const std::string& before = "") const {
    const ProgramRun refused = run(arguments, before);
    EXPECT_EQ(refused.exit_code, exit_code) << arguments << "\n" << refused.errors;
    EXPECT_THAT(refused.errors, testing::HasSubstr(text)) << arguments;
    EXPECT_THAT(refused.errors, testing::StartsWith("gemm-tune: ")) << arguments;
    EXPECT_EQ(std::count(refused.errors.begin(), refused.errors.end(), '\n'), 1)
        << arguments << "\n"
        << refused.errors;
    EXPECT_EQ(refused.output, "") << arguments;
  }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
};

}  // namespace gemm_tune
