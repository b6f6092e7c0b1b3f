// SPDX-License-Identifier: Apache-2.0
// Without a GPU: NVRTC compiles the verification kernels.
#include <gtest/gtest.h>

#include "gpu/compile/nvrtc.h"
#include "kernel_templates/source/source.h"
#include "tuner/measure/device_checks_text.h"

namespace gemm_tune {
namespace {

TEST(DeviceChecksTest, CompileForTheOldestAndTheNewestTarget) {
  for (const char* arch : {"sm_75", "sm_120"}) {
    for (const char* entry : {"fill_matrices", "reference_gemm", "check_matrices", "sum_squares"}) {
      const CompileResult result = nvrtc_compile(device_checks_source(), {}, arch, entry);
      ASSERT_TRUE(result.ok) << arch << ": " << result.log;
      EXPECT_EQ(result.resources.spill_bytes, 0) << arch << ": " << entry;
    }
  }
}

TEST(DeviceChecksTest, CompileWithEveryFunctor) {
  for (int row = 0; row < kEpilogueFunctors; ++row) {
    const Epilogue epilogue = *Epilogue::of_bits(1U << row);
    const CompileResult result = nvrtc_compile(
        device_checks_source(), epilogue_definitions(epilogue), "sm_90", "check_matrices");
    EXPECT_TRUE(result.ok) << to_string(epilogue) << ": " << result.log;
  }
}

}  // namespace
}  // namespace gemm_tune
