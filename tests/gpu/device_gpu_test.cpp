// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using DeviceGpuTest = GpuTest;

TEST_F(DeviceGpuTest, ReportsPlausibleFiguresOfTheFirstDevice) {
  const DeviceSpec spec = query_device(0);
  EXPECT_FALSE(spec.name.empty());
  EXPECT_EQ(spec.arch, "sm_" + std::to_string(10 * spec.cc_major + spec.cc_minor));
  EXPECT_GT(spec.sm_count, 0);
  EXPECT_EQ(spec.registers_per_sm, 65536);
  EXPECT_GE(spec.max_smem_per_cta_bytes, 64 * 1024);
  EXPECT_GT(spec.smem_per_sm_bytes, 0);
  EXPECT_GT(spec.clock_mhz, 300);
  EXPECT_LT(spec.clock_mhz, 5000);
  EXPECT_GT(spec.dram_gb_per_s, 50);
  EXPECT_LT(spec.dram_gb_per_s, 20000);
  EXPECT_GT(spec.l2_bytes, 0);
}

TEST_F(DeviceGpuTest, AgreesWithTheTableOnTheLimitsOfItsArchitecture) {
  const DeviceSpec spec = query_device(0);
  const auto table = find_device_spec(spec.arch);
  if (!table) GTEST_SKIP() << spec.arch << " is newer than the table";
  EXPECT_EQ(spec.max_threads_per_sm, table->max_threads_per_sm);
  EXPECT_EQ(spec.max_ctas_per_sm, table->max_ctas_per_sm);
  EXPECT_EQ(spec.smem_per_sm_bytes, table->smem_per_sm_bytes);
  EXPECT_EQ(spec.max_smem_per_cta_bytes, table->max_smem_per_cta_bytes);
  EXPECT_EQ(spec.smem_reserved_per_cta_bytes, table->smem_reserved_per_cta_bytes);
}

TEST_F(DeviceGpuTest, TheUuidIsTheOneThatVisibleDevicesMayName) {
  const std::string uuid = device_uuid(0);
  EXPECT_EQ(uuid.size(), std::string("GPU-0123abcd-4567-89ab-cdef-0123456789ab").size()) << uuid;
  EXPECT_EQ(uuid.substr(0, 4), "GPU-");
}

TEST_F(DeviceGpuTest, KnowsTheDriver) {
  EXPECT_TRUE(driver_version().has_value());
  EXPECT_NO_THROW(check_driver());
}

TEST_F(DeviceGpuTest, CopiesRangesThereAndBack) {
  DeviceBuffer<float> buffer(8);
  buffer.fill_bytes(0xFF);
  buffer.copy_from_host(std::vector<float>{1, 2, 3}, 4);
  std::vector<float> host(8);
  buffer.copy_to_host(host);
  EXPECT_TRUE(std::isnan(host[3]));
  EXPECT_EQ(host[4], 1.0F);
  EXPECT_EQ(host[6], 3.0F);
  EXPECT_TRUE(std::isnan(host[7]));
}

TEST_F(DeviceGpuTest, RefusesACopyThatLeavesTheBuffer) {
  DeviceBuffer<float> buffer(8);
  EXPECT_THROW(buffer.copy_from_host(std::vector<float>{1, 2}, 7), Error);
}

TEST_F(DeviceGpuTest, TimesWhatRunsBetweenTwoEvents) {
  const Stream stream;
  Event start, stop;
  DeviceBuffer<float> buffer(64 << 20);
  start.record(stream.get());
  buffer.fill_bytes(0, stream.get());
  stop.record(stream.get());
  stop.synchronize();
  EXPECT_TRUE(stop.is_done());
  EXPECT_GT(elapsed_us(start, stop), 1.0);
}

}  // namespace
}  // namespace gemm_tune
