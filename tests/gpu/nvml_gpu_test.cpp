// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "gpu/launch/memory.h"
#include "gpu/nvml.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using NvmlGpuTest = GpuTest;

TEST_F(NvmlGpuTest, TellsPlausibleConditions) {
  const DeviceBuffer<char> context(1);
  const auto conditions = Nvml(0).conditions();
  ASSERT_TRUE(conditions.has_value());
  EXPECT_GT(conditions->sm_mhz, 100);
  EXPECT_LT(conditions->sm_mhz, 5000);
  EXPECT_GT(conditions->power_w, 5);
  EXPECT_LT(conditions->power_w, 2000);
  EXPECT_GT(conditions->temperature_c, 5);
  EXPECT_LT(conditions->temperature_c, 110);
}

TEST_F(NvmlGpuTest, DoesNotNameThisProcessAmongTheOthers) {
  const DeviceBuffer<char> context(1);
  EXPECT_THAT(Nvml(0).other_processes(),
              testing::Not(testing::Contains(testing::HasSubstr("gpu_gpu_test"))));
}

}  // namespace
}  // namespace gemm_tune
