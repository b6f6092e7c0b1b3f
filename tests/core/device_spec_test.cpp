// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_spec.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/device/gpu_cards.h"
#include "tests/matchers.h"

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
  EXPECT_THAT(std::vector({spec.sm_count, spec.max_threads_per_sm, spec.max_ctas_per_sm}),
              ElementsAre(84, 1536, 16));
  EXPECT_THAT(std::vector({spec.smem_per_sm_bytes, spec.max_smem_per_cta_bytes,
                           spec.smem_reserved_per_cta_bytes, spec.fp32_lanes_per_sm}),
              ElementsAre(102400, 101376, 1024, 128));
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

std::vector<std::string> names_of(const std::string& asked) {
  std::vector<std::string> names;
  for (const DeviceSpec& card : find_cards(asked)) names.push_back(card.name);
  return names;
}

TEST(DeviceSpecTest, ACardIsFoundByTheNameThatAPersonTypes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of("RTX 3090"), Names{"NVIDIA GeForce RTX 3090"});
  EXPECT_EQ(names_of("rtx-3090 ti"), Names{"NVIDIA GeForce RTX 3090 Ti"});
  EXPECT_EQ(names_of("RTX3090"), Names{"NVIDIA GeForce RTX 3090"});
  EXPECT_EQ(names_of("RTX4060Ti"), Names{"NVIDIA GeForce RTX 4060 Ti"});
  EXPECT_EQ(names_of("T4"), Names{"Tesla T4"});
  EXPECT_EQ(names_of("NVIDIA H100 80GB HBM3"), Names{"NVIDIA H100 80GB HBM3"});
  EXPECT_EQ(names_of("a10"), Names{"NVIDIA A10"});  // and not the A100
  EXPECT_EQ(names_of("H100"),
            (Names{"NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"}));
  EXPECT_EQ(names_of("GTX 9999"), Names{});
  EXPECT_EQ(names_of(" "), Names{});
}

TEST(DeviceSpecTest, EveryCardHasFiguresOfItsOwnAndTheLimitsOfItsArchitecture) {
  const DeviceSpec card = find_cards("RTX 3090").at(0);
  EXPECT_EQ(card.arch, "sm_86");
  EXPECT_EQ(card.sm_count, 82);
  EXPECT_EQ(card.clock_mhz, 1695);
  EXPECT_EQ(card.l2_bytes, 6 << 20);
  EXPECT_EQ(card.memory_bytes, std::int64_t{24} << 30);
  EXPECT_EQ(card.max_threads_per_sm, 1536);
  std::set<std::string> names, archs;
  std::string last;
  for (const GpuCard& one : gpu_cards()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " twice";
    if (one.arch != last) {
      EXPECT_TRUE(archs.insert(one.arch).second) << one.name << " stands apart";
    }
    last = one.arch;
    EXPECT_TRUE(find_device_spec(one.arch)) << one.name;
    EXPECT_EQ(names_of(one.name), std::vector<std::string>{one.name});
    EXPECT_GE(one.sm_count, 10) << one.name;
    EXPECT_GE(one.clock_mhz, 1000) << one.name;
    EXPECT_GE(one.dram_gb_per_s, 100) << one.name;
    EXPECT_GE(one.l2_kib, 1024) << one.name;
    EXPECT_GE(one.memory_gib, 4) << one.name;
  }
}

}  // namespace
}  // namespace gemm_tune
