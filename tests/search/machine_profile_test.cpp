// SPDX-License-Identifier: Apache-2.0
#include "search/model/machine_profile.h"

#include <gtest/gtest.h>

#include "core/device/device_spec.h"

namespace gemm_tune {
namespace {

TEST(MachineProfileTest, OnlyThatOfTheH100IsMeasured) {
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_120"}) {
    EXPECT_EQ(machine_profile(arch).arch, arch);
    EXPECT_EQ(machine_profile(arch).measured_on, std::nullopt) << arch;
    EXPECT_EQ(machine_profile(arch).measured_at, "") << arch;
  }
  EXPECT_EQ(machine_profile("sm_90").arch, "sm_90");
  EXPECT_EQ(machine_profile("sm_90").measured_on, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(machine_profile("sm_90").measured_at, "2026-11-21");
}

TEST(MachineProfileTest, AnArchitectureWithoutAProfileGetsTheSharedOne) {
  for (const char* arch : {"sm_87", "sm_100", "sm_121", "", "sm_9"}) {
    EXPECT_EQ(machine_profile(arch).arch, "") << arch;
    EXPECT_EQ(machine_profile(arch).measured_on, std::nullopt) << arch;
  }
}

TEST(MachineProfileTest, EachProfileIsThatOfAKnownArchitectureAndFoundByIt) {
  EXPECT_EQ(machine_profiles().size(), 6u);
  for (const MachineProfile& profile : machine_profiles()) {
    EXPECT_TRUE(find_device_spec(profile.arch)) << profile.arch;
    EXPECT_EQ(&machine_profile(profile.arch), &profile);
  }
}

TEST(MachineProfileTest, ConstantsDifferWhereASourceSaysSo) {
  EXPECT_EQ(machine_profile("sm_75").model.l2_bytes_per_cycle_per_sm, 20);
  EXPECT_EQ(machine_profile("sm_80").model.l2_bytes_per_cycle_per_sm, 47);
  for (const char* arch : {"sm_86", "sm_89", "sm_90", "sm_120", "sm_100"}) {
    EXPECT_EQ(machine_profile(arch).model.l2_bytes_per_cycle_per_sm, 39) << arch;
  }
}

TEST(MachineProfileTest, OnlyRecordingsForbidWhatHasWorkToDo) {
  const RecordedLosses& recorded = machine_profile("sm_90").losses;
  EXPECT_EQ(recorded.least_slices_per_share, 2);
  EXPECT_EQ(recorded.most_shared_waves, 4);
  EXPECT_EQ(recorded.most_unrolled, 1024);
  EXPECT_TRUE(recorded.late_operands);
  for (const MachineProfile& profile : machine_profiles()) {
    if (profile.measured_on) continue;
    EXPECT_EQ(profile.losses.least_slices_per_share, 1) << profile.arch;
    EXPECT_EQ(profile.losses.most_shared_waves, std::nullopt) << profile.arch;
    EXPECT_EQ(profile.losses.most_unrolled, std::nullopt) << profile.arch;
    EXPECT_FALSE(profile.losses.late_operands) << profile.arch;
  }
}

}  // namespace
}  // namespace gemm_tune
