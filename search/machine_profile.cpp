// SPDX-License-Identifier: Apache-2.0
#include "search/machine_profile.h"

#include <array>

namespace gemm_tune {
namespace {

constexpr MachineProfile from_data_sheets(std::string_view arch) {
  return {arch, std::nullopt, "", {}, {}};
}

// Jia et al. (2019) read 1270 GB/s from the L2 of a T4, by 40 SMs at 1590 MHz.
constexpr MachineProfile sm_75() {
  MachineProfile profile = from_data_sheets("sm_75");
  profile.model.l2_bytes_per_cycle_per_sm = 20;
  return profile;
}

// The L2 of an A100 delivers 5120 bytes a cycle (NVIDIA, "A100 Tensor Core GPU Architecture",
// 2020): 47 for each of 108 SMs. So does that of an H100, 39 for each of 132 SMs, of which the SMs
// get 28. The same share is assumed here.
constexpr MachineProfile sm_80() {
  MachineProfile profile = from_data_sheets("sm_80");
  profile.model.l2_bytes_per_cycle_per_sm = 34;
  return profile;
}

// 18 to 23 problems for each loss; `most_unrolled`: one problem was won beyond it, by 0.1 %;
// `late_operands`: in 111 pairs of configs the median gain without is 2 %.
constexpr MachineProfile sm_90() {
  RecordedLosses losses;
  losses.least_slices_per_share = 2;  // below, a share is all start and end
  losses.most_shared_waves = 4;
  losses.most_unrolled = 1024;
  losses.late_operands = true;
  return {"sm_90", "NVIDIA H100 80GB HBM3", "2026-11-21", {}, losses};
}

// No data sheet of GA102, AD102 or GB202 says what an SM gets from the L2: these start as sm_90.
constexpr std::array<MachineProfile, 6> kProfiles = {sm_75(),
                                                     sm_80(),
                                                     from_data_sheets("sm_86"),
                                                     from_data_sheets("sm_89"),
                                                     sm_90(),
                                                     from_data_sheets("sm_120")};

constexpr MachineProfile kUnknown = from_data_sheets("");

}  // namespace

std::span<const MachineProfile> machine_profiles() { return kProfiles; }

const MachineProfile& machine_profile(std::string_view arch) {
  for (const MachineProfile& profile : kProfiles) {
    if (profile.arch == arch) return profile;
  }
  return kUnknown;
}

}  // namespace gemm_tune
