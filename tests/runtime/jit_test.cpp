// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "choose/choose.h"
#include "core/error.h"
#include "tests/dispatch/sample_database.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

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

TEST_F(JitTest, CompilesAWinnerAndItsTwinToElfImages) {
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
  EXPECT_NE(cubin(Epilogue::none), cubin(Epilogue::bias));
  EXPECT_NE(cubin(Epilogue::bias), cubin(Epilogue::bias_relu));
}

TEST_F(JitTest, AKernelWithAnEpilogueIsKeptByTheTokensOfItsEpilogue) {
  KernelSource source = kernel_source(*config_.family);
  const auto key = [&](Epilogue epilogue) {
    return kernel_key(source, config_, {COperand::in_place, epilogue}, "sm_86");
  };
  const std::string plain = key(Epilogue::none), with_bias = key(Epilogue::bias);
  for (auto& [path, text] : source.headers) {
    if (path == "kernel_templates/device/bias.cuh") text += "constexpr int kMine = 1;\n";
  }
  EXPECT_EQ(key(Epilogue::none), plain);
  EXPECT_NE(key(Epilogue::bias), with_bias);
}

TEST_F(JitTest, AKernelWithALaterParameterIsKeptByTheTokensOfIts) {
  const std::string before =
      "skinny/CLUSTER=0,BS=1,TL=4,WARPS=8,LANES_K=1,UNROLL=8,VEC=4,SPLIT_K=8,SKINNY_N=0,TA=0,TB=0,"
      "PRED=0";
  const KnownConfig plain = check_config(parse_config(before)),
                    later = check_config(parse_config(before + ",KEEP=6"));
  const KernelSource source = kernel_source(*plain.family);
  KernelSource changed = source;
  changed.text.insert(changed.text.find("#ifdef TUNED_KEEP"),
                      "#ifdef TUNED_KEEP\nconstexpr int kMine = 1;\n#endif\n");
  const auto key = [](const KernelSource& of, const KnownConfig& config) {
    return kernel_key(of, config, COperand::in_place, "sm_86");
  };
  EXPECT_EQ(key(changed, plain), key(source, plain));
  EXPECT_NE(key(changed, later), key(source, later));
}

TEST_F(JitTest, AnUnsupportedArchitectureIsADeviceError) {
  EXPECT_THAT([this] { jit_cubin(config_, COperand::in_place, "sm_999", nullptr); },
              ThrowsMessage<DeviceError>(HasSubstr("sm_999")));
}

}  // namespace
}  // namespace gemm_tune
