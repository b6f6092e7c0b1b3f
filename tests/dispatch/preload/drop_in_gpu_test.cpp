// SPDX-License-Identifier: Apache-2.0
// The drop-in on a GPU, beside the cuBLAS that it stands in for.
#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "choose/choose.h"
#include "core/shell_quote.h"
#include "gpu/device.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class DropInGpuTest : public GpuTest {};

// A winner for all types and layouts, with made-up times.
void write_winners(const std::filesystem::path& file, const DeviceSpec& device) {
  Database database(file, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 128", 1});
  Outcome measured;
  measured.timing = Timing{9.0, {8.0, 9.0, 10.0}, 4};
  for (const ElementType ab : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const ElementType cd : {ab, ElementType::f32}) {
      const Signature types = signature_of(ab, cd);
      for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
        const std::optional<KnownConfig> config = builtin_config(types, layout, device.arch);
        if (!config) continue;
        const Problem problem = packed_problem(128, 128, 128, layout, 1, types);
        database.store_baseline(device_key(device), problem,
                                {"cublas 13.1.0", Timing{10.0, {9.0, 10.0, 11.0}, 4}});
        const std::string text = to_string(config->config());
        database.store(device_key(device), problem, text,
                       current_kernel_hashes().at(text.substr(0, text.find('/'))), measured,
                       Source::measured);
      }
    }
  }
}

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

// Beside this program, wherever the build has been carried to.
std::string random_client() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "random_client";
}

TEST_F(DropInGpuTest, RandomCallsGiveTheBytesThatCublasGivesOrExactResults) {
  const TempFolder folder;
  write_winners(folder.path() / "winners.db", query_device(0));
  const auto variable = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + shell_quote(value) + " ";
  };
  const std::string command = "env -u NVIDIA_TF32_OVERRIDE -u CUBLAS_EMULATE_SINGLE_PRECISION " +
                              variable("GEMM_TUNE_DB", folder.path() / "winners.db") +
                              variable("XDG_CACHE_HOME", folder.path()) +
                              variable("GEMM_TUNE_BLAS_REPORT", folder.path() / "report.jsonl") +
                              "GEMM_TUNE_BLAS_DISTANCE=1e12 " + shell_quote(random_client()) +
                              " 400 2>&1";
  const auto [status, said] = run(command);
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

}  // namespace
}  // namespace gemm_tune
