// SPDX-License-Identifier: Apache-2.0
// Each faulty kernel reaches the GPU to do its worst there; but for the one that ends no compiler.
#include <gtest/gtest.h>

#include "gpu/nvrtc.h"
#include "kernel_templates/source.h"
#include "tests/faults/faulty.cuh"

namespace gemm_tune {
namespace {

TEST(FaultyCompile, EveryFaultButTheEndlessCompilation) {
  const KernelSource source = kernel_source(faulty::family(), GT_FAULTY_KERNEL_DIR);
  for (int fault = 1; fault <= faulty::kFaults; ++fault) {
    if (fault == faulty::kEndlessCompile) continue;
    const CompileResult result =
        nvrtc_compile({source.path, source.text, source.headers},
                      {"TUNED_PARAMS={.FAULT=" + std::to_string(fault) + ",.ID=0}"}, "sm_90");
    EXPECT_TRUE(result.ok) << fault << ": " << result.log;
  }
}

}  // namespace
}  // namespace gemm_tune
