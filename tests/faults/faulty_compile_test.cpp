// SPDX-License-Identifier: Apache-2.0
// Each faulty kernel reaches the GPU to do its worst there; but for the one that ends no compiler.
#include <gtest/gtest.h>

#include "gpu/compile/nvrtc.h"
#include "kernel_templates/source/source.h"
#include "tests/faults/faulty/family.h"

namespace gemm_tune {
namespace {

TEST(FaultyCompile, EveryFaultButTheEndlessCompilation) {
  const KernelFamily family = faulty::family();
  const KernelSource source = kernel_source(family, GT_FAULTY_KERNEL_DIR);
  for (int fault = 1; fault <= faulty::kFaults; ++fault) {
    if (fault == faulty::kEndlessCompile) continue;
    const CompileResult result =
        nvrtc_compile({source.path, source.text, source.headers},
                      compile_definitions(known_config(family, {fault, 0})), "sm_90");
    EXPECT_TRUE(result.ok) << fault << ": " << result.log;
  }
}

}  // namespace
}  // namespace gemm_tune
