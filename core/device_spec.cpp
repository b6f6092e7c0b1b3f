// SPDX-License-Identifier: Apache-2.0
#include "core/device_spec.h"

#include <array>
#include <charconv>

namespace gemm_tune {
namespace {

constexpr int kKiB = 1024;
constexpr std::int64_t kMiB = 1'048'576;

// The limits that differ between architectures: CUDA C++ Programming Guide 13.0, "Technical
// Specifications per Compute Capability". The allocation units are those of the toolkit's
// cuda_occupancy.h.
struct ArchLimits {
  const char* arch;
  int cc_major, cc_minor;
  int max_threads_per_sm;
  int max_ctas_per_sm;
  int smem_per_sm_bytes;
  int fp32_lanes_per_sm;
};

// A typical card: the name as its driver reports it, figures of NVIDIA's datasheets.
struct Card {
  const char* name;
  int sm_count;
  int clock_mhz;
  double dram_gb_per_s;
  std::int64_t l2_bytes;
};

DeviceSpec device_spec(const ArchLimits& limits, const Card& card) {
  DeviceSpec spec;
  spec.arch = limits.arch;
  spec.name = card.name;
  spec.cc_major = limits.cc_major;
  spec.cc_minor = limits.cc_minor;
  spec.sm_count = card.sm_count;
  spec.max_threads_per_sm = limits.max_threads_per_sm;
  spec.max_ctas_per_sm = limits.max_ctas_per_sm;
  spec.smem_per_sm_bytes = limits.smem_per_sm_bytes;
  // Since sm_80 the driver keeps 1 KiB of every CTA's shared memory for itself.
  spec.smem_reserved_per_cta_bytes = limits.cc_major >= 8 ? 1 * kKiB : 0;
  spec.max_smem_per_cta_bytes = limits.smem_per_sm_bytes - spec.smem_reserved_per_cta_bytes;
  spec.smem_allocation_unit_bytes = limits.cc_major >= 8 ? 128 : 256;
  spec.fp32_lanes_per_sm = limits.fp32_lanes_per_sm;
  spec.clock_mhz = card.clock_mhz;
  spec.dram_gb_per_s = card.dram_gb_per_s;
  spec.l2_bytes = card.l2_bytes;
  return spec;
}

// sm_88 is absent, although NVRTC 13 compiles for it: no card with it is known to us.
const std::array<DeviceSpec, 11>& table() {
  static const std::array<DeviceSpec, 11> specs = {
      device_spec({"sm_75", 7, 5, 1024, 16, 64 * kKiB, 64}, {"Tesla T4", 40, 1590, 320, 4 * kMiB}),
      device_spec({"sm_80", 8, 0, 2048, 32, 164 * kKiB, 64},
                  {"NVIDIA A100-SXM4-80GB", 108, 1410, 2039, 40 * kMiB}),
      device_spec({"sm_86", 8, 6, 1536, 16, 100 * kKiB, 128},
                  {"NVIDIA RTX A6000", 84, 1800, 768, 6 * kMiB}),
      device_spec({"sm_87", 8, 7, 1536, 16, 164 * kKiB, 128},
                  {"Orin", 16, 1300, 204.8, 4 * kMiB}),  // Jetson AGX Orin 64 GB
      device_spec({"sm_89", 8, 9, 1536, 24, 100 * kKiB, 128},
                  {"NVIDIA GeForce RTX 4090", 128, 2520, 1008, 72 * kMiB}),
      device_spec({"sm_90", 9, 0, 2048, 32, 228 * kKiB, 128},
                  {"NVIDIA H100 80GB HBM3", 132, 1980, 3350, 50 * kMiB}),
      device_spec({"sm_100", 10, 0, 2048, 32, 228 * kKiB, 128},
                  {"NVIDIA B200", 148, 1965, 7700, 126 * kMiB}),
      device_spec({"sm_103", 10, 3, 2048, 32, 228 * kKiB, 128},
                  {"NVIDIA B300 SXM6 AC", 148, 1965, 7700, 126 * kMiB}),
      device_spec({"sm_110", 11, 0, 1536, 24, 228 * kKiB, 128},
                  {"NVIDIA Thor", 20, 1575, 273, 32 * kMiB}),  // Jetson AGX Thor
      device_spec({"sm_120", 12, 0, 1536, 24, 100 * kKiB, 128},
                  {"NVIDIA GeForce RTX 5090", 170, 2407, 1792, 96 * kMiB}),
      device_spec({"sm_121", 12, 1, 1536, 24, 100 * kKiB, 128},
                  {"NVIDIA GB10", 48, 2418, 273, 24 * kMiB}),  // DGX Spark
  };
  return specs;
}

}  // namespace

std::span<const DeviceSpec> device_table() { return table(); }

int number_of_arch(std::string_view arch) {
  constexpr std::string_view kStart = "sm_";
  int number = 0;
  if (arch.starts_with(kStart)) {
    std::from_chars(arch.data() + kStart.size(), arch.data() + arch.size(), number);
  }
  return number;
}

std::optional<DeviceSpec> find_device_spec(std::string_view arch) {
  for (const DeviceSpec& spec : table()) {
    if (spec.arch == arch) return spec;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
