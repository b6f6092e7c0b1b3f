// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit.h"

#include <filesystem>
#include <set>
#include <string>

#include "choose/builtin_config.h"
#include "core/error.h"
#include "tests/dispatch/sample_database.h"
#include "tests/epilogues.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr const char* kElf = "\177ELF";

class JitTest : public ::testing::Test {
 protected:
  std::filesystem::path only_file() const {
    return std::filesystem::directory_iterator(directory_)->path();
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path();
  const KnownConfig config_ = check_config(parse_config(kSampleConfig));
};

TEST_F(JitTest, CompilesAWinnerAndItsSpecialisationToElfImages) {
  EXPECT_THAT(jit_cubin(config_, COperand::in_place, "sm_86", nullptr), StartsWith(kElf));
  EXPECT_THAT(jit_cubin(served_variants(config_).back(), COperand::in_place, "sm_86", nullptr),
              StartsWith(kElf));
}

TEST_F(JitTest, CompilesTheDefaultForTheOldestArchitecture) {
  EXPECT_THAT(jit_cubin(builtin_default(packed_problem(7, 5, 3), "sm_75").value(),
                        COperand::in_place, "sm_75", nullptr),
              StartsWith(kElf));
}

TEST_F(JitTest, TakesFromTheCacheWhatItStoredThere) {
  const KernelStore cache(directory_);
  const std::string compiled = jit_cubin(config_, COperand::in_place, "sm_86", &cache);
  const auto written = std::filesystem::last_write_time(only_file());
  EXPECT_EQ(jit_cubin(config_, COperand::in_place, "sm_86", &cache), compiled);
  EXPECT_EQ(std::filesystem::last_write_time(only_file()), written);
}

TEST_F(JitTest, TakesFromTheCacheWhatAnotherNvrtcHasCompiled) {
  const KernelStore cache(directory_);
  const std::string key =
      kernel_key(kernel_source(*config_.family), config_, COperand::in_place, "sm_86");
  ASSERT_TRUE(store_kernel(cache, key, {"13.7", "cubin"}));
  EXPECT_EQ(jit_cubin(config_, COperand::in_place, "sm_86", &cache), "cubin");
  EXPECT_EQ(load_kernel(cache, key).value().nvrtc_version, "13.7");
}

TEST_F(JitTest, StoresTheVersionOfTheNvrtcThatCompiled) {
  const KernelStore cache(directory_);
  const std::string compiled = jit_cubin(config_, COperand::in_place, "sm_86", &cache);
  const std::string key =
      kernel_key(kernel_source(*config_.family), config_, COperand::in_place, "sm_86");
  EXPECT_EQ(load_kernel(cache, key).value().nvrtc_version, nvrtc_version());
  EXPECT_EQ(load_kernel(cache, key).value().bytes, compiled);
}

TEST_F(JitTest, CompilesAgainWhereTheCachedFileIsDamaged) {
  const KernelStore cache(directory_);
  const std::string compiled = jit_cubin(config_, COperand::in_place, "sm_86", &cache);
  std::filesystem::resize_file(only_file(), 100);
  EXPECT_EQ(jit_cubin(config_, COperand::in_place, "sm_86", &cache).size(), compiled.size());
  EXPECT_GT(std::filesystem::file_size(only_file()), compiled.size());
}

TEST_F(JitTest, KeepsArchitecturesApartInTheCache) {
  const KernelStore cache(directory_);
  EXPECT_NE(jit_cubin(config_, COperand::in_place, "sm_86", &cache),
            jit_cubin(config_, COperand::in_place, "sm_90", &cache));
}

TEST_F(JitTest, KeepsKernelsForASeparateCApartInTheCache) {
  const KernelStore cache(directory_);
  EXPECT_NE(jit_cubin(config_, COperand::separate, "sm_86", &cache),
            jit_cubin(config_, COperand::in_place, "sm_86", &cache));
}

TEST_F(JitTest, KeepsKernelsWithAnEpilogueApartInTheCache) {
  const KernelStore cache(directory_);
  const auto cubin = [&](Epilogue epilogue) {
    return jit_cubin(config_, {COperand::in_place, epilogue}, "sm_86", &cache);
  };
  EXPECT_NE(cubin({}), cubin(kBiasColumn));
  EXPECT_NE(cubin(kBiasColumn), cubin(kBiasColumnRelu));
}

TEST_F(JitTest, AKernelIsKeptByItsTextAndHeaders) {
  const KernelSource source = kernel_source(*config_.family);
  const auto key = [&](const KernelSource& of) {
    return kernel_key(of, config_, COperand::in_place, "sm_86");
  };
  KernelSource other_text = source, other_header = source, other_revision = source;
  other_text.text += "constexpr int kMine = 1;\n";
  other_header.headers.front().second += "constexpr int kMine = 1;\n";
  other_revision.revision = "2";
  EXPECT_NE(key(other_text), key(source));
  EXPECT_NE(key(other_header), key(source));
  EXPECT_EQ(key(other_revision), key(source));
}

TEST_F(JitTest, AKernelIsKeptByItsConfigFormAndTarget) {
  const KernelSource source = kernel_source(*config_.family);
  std::set<std::string> keys;
  for (const KnownConfig& config : {config_, served_variants(config_).back()}) {
    for (const COperand c : {COperand::in_place, COperand::separate}) {
      for (const Epilogue epilogue : {Epilogue(), kBiasColumn, kBiasColumnRelu}) {
        for (const char* arch : {"sm_86", "sm_90"}) {
          keys.insert(kernel_key(source, config, {c, epilogue}, arch).substr(0, 16));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 2U * 2 * 3 * 2);
}

TEST_F(JitTest, AnUnsupportedArchitectureIsADeviceError) {
  EXPECT_THAT([this] { jit_cubin(config_, COperand::in_place, "sm_999", nullptr); },
              ThrowsMessage<DeviceError>(HasSubstr("sm_999")));
}

}  // namespace
}  // namespace gemm_tune
