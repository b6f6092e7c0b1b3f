// SPDX-License-Identifier: Apache-2.0
#include "search/model/machine_profile.h"

#include <array>

namespace gemm_tune {
namespace {

constexpr MachineProfile from_data_sheets(std::string_view arch) {
  return {arch, std::nullopt, "", {}, {}};
}

// mma.sync reaches what the tensor cores do.
constexpr MachineProfile with_tensor_cores(std::string_view arch, double multiplications_per_cycle,
                                           double geforce_share) {
  MachineProfile profile = from_data_sheets(arch);
  profile.model.tensor_multiplications_per_cycle = multiplications_per_cycle;
  profile.model.mma_sync_share = 1;
  profile.model.geforce_tensor_share = geforce_share;
  return profile;
}

// NVIDIA's data sheets and architecture papers, f16 with fp32 sums and without sparsity: 512 by
// 65 TFLOP/s of a T4, 154.8 of an RTX A6000 and 364.2 of an RTX 6000 Ada; half of it on GeForce by
// 71 of an RTX 3090, 165.2 of an RTX 4090 and 209.5 of an RTX 5090.
constexpr MachineProfile of_graphics_card(std::string_view arch) {
  return with_tensor_cores(arch, 512, 0.5);
}

// Jia et al. (2019) read 1270 GB/s from the L2 of a T4, by 40 SMs at 1590 MHz.
constexpr MachineProfile sm_75() {
  MachineProfile profile = of_graphics_card("sm_75");
  profile.model.l2_bytes_per_cycle_per_sm = 20;
  return profile;
}

// The L2 of an A100 delivers 5120 bytes a cycle (NVIDIA, "A100 Tensor Core GPU Architecture",
// 2020): 47 for each of 108 SMs. Tensor cores: 312 TFLOP/s by 108 SMs at 1410 MHz (ibid.).
constexpr MachineProfile sm_80() {
  MachineProfile profile = with_tensor_cores("sm_80", 1024, 1);
  profile.model.l2_bytes_per_cycle_per_sm = 47;
  return profile;
}

// 18 to 23 problems for each loss; `most_unrolled`: one problem was won beyond it, by 0.1 %;
// `late_operands`: in 111 pairs of configs the median gain without is 2 %.
MachineProfile sm_90() {
  ModelConstants model;
  model.correction = correction_of_sm_90();
  RecordedLosses losses;
  losses.least_slices_per_share = 2;  // below, a share is all start and end
  losses.most_shared_waves = 4;
  losses.most_unrolled = 1024;
  losses.late_operands = true;
  return {"sm_90", "NVIDIA H100 80GB HBM3", "2026-11-21", model, losses};
}

// No data sheet of GA102, AD102 or GB202 says what an SM gets from the L2: these start as sm_90.
const auto& profiles() {
  static const std::array all = {sm_75(),
                                 sm_80(),
                                 of_graphics_card("sm_86"),
                                 of_graphics_card("sm_89"),
                                 sm_90(),
                                 of_graphics_card("sm_120")};
  return all;
}

constexpr MachineProfile kUnknown = from_data_sheets("");

}  // namespace

std::span<const MachineProfile> machine_profiles() { return profiles(); }

const MachineProfile& machine_profile(std::string_view arch) {
  for (const MachineProfile& profile : profiles()) {
    if (profile.arch == arch) return profile;
  }
  return kUnknown;
}

}  // namespace gemm_tune
