// SPDX-License-Identifier: Apache-2.0
#include "core/device_spec.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gemm_tune {
namespace {

TEST(DeviceSpecTest, HoldsEveryArchitectureFromTuringToBlackwellInOrder) {
  std::vector<std::string> archs;
  for (const DeviceSpec& spec : device_table()) archs.push_back(spec.arch);
  EXPECT_EQ(archs, (std::vector<std::string>{"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90",
                                             "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}));
}

TEST(DeviceSpecTest, ArchitectureNameSpellsTheComputeCapability) {
  for (const DeviceSpec& spec : device_table()) {
    EXPECT_EQ(spec.arch, "sm_" + std::to_string(spec.cc_major) + std::to_string(spec.cc_minor));
  }
}

TEST(DeviceSpecTest, EveryFigureIsFilledIn) {
  std::set<std::string> names;
  for (const DeviceSpec& spec : device_table()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " twice";
    EXPECT_GT(spec.sm_count, 0) << spec.arch;
    EXPECT_GE(spec.max_threads_per_sm, 1024) << spec.arch;
    EXPECT_EQ(spec.max_threads_per_sm % 128, 0) << spec.arch;
    EXPECT_GE(spec.max_ctas_per_sm, 16) << spec.arch;
    EXPECT_EQ(spec.max_smem_per_cta_bytes + spec.smem_reserved_per_cta_bytes,
              spec.smem_per_sm_bytes)
        << spec.arch;
    EXPECT_TRUE(spec.fp32_lanes_per_sm == 64 || spec.fp32_lanes_per_sm == 128) << spec.arch;
    EXPECT_GE(spec.clock_mhz, 1000) << spec.arch;
    EXPECT_GE(spec.dram_gb_per_s, 200) << spec.arch;
    EXPECT_GE(spec.l2_bytes, 4 * 1024 * 1024) << spec.arch;
  }
}

TEST(DeviceSpecTest, FindsTheA6000ForSm86) {
  const DeviceSpec spec = find_device_spec("sm_86").value();
  EXPECT_EQ(spec.name, "NVIDIA RTX A6000");
  EXPECT_EQ(spec.sm_count, 84);
  EXPECT_EQ(spec.max_threads_per_sm, 1536);
  EXPECT_EQ(spec.max_ctas_per_sm, 16);
  EXPECT_EQ(spec.smem_per_sm_bytes, 102400);
  EXPECT_EQ(spec.max_smem_per_cta_bytes, 101376);
  EXPECT_EQ(spec.smem_reserved_per_cta_bytes, 1024);
  EXPECT_EQ(spec.fp32_lanes_per_sm, 128);
}

TEST(DeviceSpecTest, TuringReservesNoSharedMemory) {
  const DeviceSpec spec = find_device_spec("sm_75").value();
  EXPECT_EQ(spec.smem_reserved_per_cta_bytes, 0);
  EXPECT_EQ(spec.max_smem_per_cta_bytes, 65536);
  EXPECT_EQ(spec.smem_allocation_unit_bytes, 256);
  EXPECT_EQ(spec.fp32_lanes_per_sm, 64);
}

TEST(DeviceSpecTest, H100PeakIsTheDatasheets) {
  const DeviceSpec spec = find_device_spec("sm_90").value();
  EXPECT_EQ(spec.name, "NVIDIA H100 80GB HBM3");
  EXPECT_NEAR(2e-6 * spec.fp32_lanes_per_sm * spec.sm_count * spec.clock_mhz, 66.9, 0.05);
}

TEST(DeviceSpecTest, UnknownArchitecturesAreNotFound) {
  for (const char* arch : {"", "sm_70", "sm_88", "sm_999", "86", "SM_86", "sm_90a"}) {
    EXPECT_EQ(find_device_spec(arch), std::nullopt) << arch;
  }
}

}  // namespace
}  // namespace gemm_tune
