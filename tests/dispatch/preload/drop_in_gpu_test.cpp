// SPDX-License-Identifier: Apache-2.0
// The drop-in on a GPU, beside the cuBLAS that it stands in for.
#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/text/shell_quote.h"
#include "gpu/device.h"
#include "tests/dispatch/preload/winners_for_all.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class DropInGpuTest : public GpuTest {};

struct Ended {
  int status;
  std::string output;
};

Ended run(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Ended ended{};
  std::array<char, 4096> chunk;
  for (std::size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    ended.output.append(chunk.data(), n);
  }
  ended.status = pclose(pipe);
  return ended;
}

// A client, which lies beside this program wherever the build has been carried to. It has winners
// for all problems, and leaves its report in the folder.
Ended run_client(const std::filesystem::path& folder, const std::string& client,
                 const std::string& arguments = "") {
  write_winners_for_all(folder / "winners.db", query_device(0));
  const auto variable = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + shell_quote(value) + " ";
  };
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return run("env -u NVIDIA_TF32_OVERRIDE -u CUBLAS_EMULATE_SINGLE_PRECISION " +
             variable("GEMM_TUNE_DB", folder / "winners.db") + variable("XDG_CACHE_HOME", folder) +
             variable("GEMM_TUNE_BLAS_REPORT", folder / "report.jsonl") +
             "GEMM_TUNE_BLAS_DISTANCE=1e12 " + shell_quote((own / client).string()) + " " +
             arguments + " 2>&1");
}

TEST_F(DropInGpuTest, RandomCallsGiveTheBytesThatCublasGivesOrExactResults) {
  const TempFolder folder;
  const auto [status, said] = run_client(folder.path(), "random_client", "400");
  EXPECT_EQ(status, 0) << said;
  std::istringstream report(read_file(folder.path() / "report.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(report, line));
  EXPECT_FALSE(nlohmann::json::parse(line).contains("error")) << line;
  std::int64_t served = 0;
  while (std::getline(report, line)) {
    const auto shape = nlohmann::json::parse(line);
    served += shape["served"].get<std::int64_t>();
    EXPECT_TRUE(shape["declined"].empty()) << line;
  }
  EXPECT_EQ(served, 400);
}

TEST_F(DropInGpuTest, LegalAndIllegalCallsEndAsCublassOwnAndOnlyItsErrorsAreCountedAsErrors) {
  const TempFolder folder;
  const auto [status, said] = run_client(folder.path(), "legal_calls_client");
  ASSERT_EQ(status, 0) << said;
  std::istringstream rows(said);
  int calls = 0, errors = 0;
  for (std::string row; std::getline(rows, row);) {
    if (!row.starts_with('{')) continue;  // cuBLAS's own words
    ++calls;
    const auto call = nlohmann::json::parse(row);
    EXPECT_EQ(call["cublas"], call["drop_in"]) << row;
    EXPECT_TRUE(call["same"]) << row;
    if (call["cublas"] != 0) ++errors;
  }
  EXPECT_GT(errors, 0);
  std::istringstream report(read_file(folder.path() / "report.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(report, line));
  int served = 0;
  std::map<std::string, int> declined;
  while (std::getline(report, line)) {
    const auto shape = nlohmann::json::parse(line);
    served += shape["served"].get<int>();
    for (const auto& [reason, count] : shape["declined"].items()) {
      declined[reason] += count.get<int>();
    }
  }
  EXPECT_EQ(declined["an error that cuBLAS returned"], errors);
  std::string figures = std::to_string(calls) + " calls: " + std::to_string(served) + " served\n";
  int counted = served;
  for (const auto& [reason, count] : declined) {
    counted += count;
    figures += std::to_string(count) + " left to cuBLAS: " + reason + "\n";
  }
  EXPECT_EQ(counted, calls);
  EXPECT_EQ(declined.count("an error of gemm-tune's library"), 0U);
  std::fputs(figures.c_str(), stdout);
}

}  // namespace
}  // namespace gemm_tune
