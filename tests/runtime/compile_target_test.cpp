// SPDX-License-Identifier: Apache-2.0
// What a kernel is compiled for where that is not the GPU's architecture as such.

#include "core/error.h"
#include "runtime/compile.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"
#include "tests/runtime/wgmma_kernel.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class CompileTargetTest : public ::testing::Test {
 protected:
  const TempFolder temp_;
  const KernelFamily family_ = wgmma_family();
  const KernelSource source_ = wgmma_source(family_, temp_.path());
  const KnownConfig config_ = known_config(family_, {8});
};

TEST_F(CompileTargetTest, IsTheGpusArchitectureForEveryOtherKernel) {
  const KnownConfig naive = known("naive/BM=16,BN=16,COALESCED=1,PRED=0");
  for (const char* arch : {"sm_75", "sm_90", "sm_120"}) {
    EXPECT_EQ(compile_target(naive, arch), arch);
  }
}

TEST_F(CompileTargetTest, OfWgmmaIsHoppersOwn) {
  const CompileResult result = compile_kernel(source_, config_, COperand::in_place, "sm_90");
  EXPECT_TRUE(result.ok) << result.log;
  EXPECT_THAT(result.log, HasSubstr("'sm_90a'"));
  EXPECT_THAT(kernel_key(source_, config_, COperand::in_place, "sm_90"), EndsWith(" sm_90a"));
  // The reason for all this.
  const CompileResult plain = nvrtc_compile({source_.path, source_.text, source_.headers},
                                            compile_definitions(config_), "sm_90");
  EXPECT_FALSE(plain.ok);
}

TEST_F(CompileTargetTest, ElsewhereTheKernelIsRefusedInASentence) {
  for (const char* arch : {"sm_80", "sm_89", "sm_120"}) {
    EXPECT_THAT(
        [&] { compile_kernel(source_, config_, COperand::in_place, arch); },
        ThrowsMessage<UsageError>("the kernel wgmma_probe/N=8 has instructions of sm_90a, which " +
                                  std::string(arch) + " lacks: use it on sm_90 only"));
  }
}

}  // namespace
}  // namespace gemm_tune
