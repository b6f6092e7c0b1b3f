// SPDX-License-Identifier: Apache-2.0
#include "core/device/occupancy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/text/words.h"

namespace gemm_tune {
namespace {

constexpr int kWarpSize = 32;
// Every SM since sm_50 is four sub-partitions, each with a quarter of the registers.
constexpr int kSubPartitions = 4;

int divide_up(int value, int unit) { return (value + unit - 1) / unit; }

int round_up(int value, int unit) { return divide_up(value, unit) * unit; }

int ctas_by_warps(const DeviceSpec& device, int threads, int warps) {
  if (threads > device.max_threads_per_cta) return 0;
  return device.max_threads_per_sm / kWarpSize / warps;
}

// Registers are given out per warp, from the sub-partition that the warp lives in.
int ctas_by_registers(const DeviceSpec& device, int registers, int warps) {
  if (registers > device.max_registers_per_thread) return 0;
  const int per_warp = round_up(registers * kWarpSize, device.register_allocation_unit);
  // The hardware's check of one CTA assumes that its warps fill all sub-partitions evenly.
  if (per_warp * round_up(warps, kSubPartitions) > device.registers_per_cta) return 0;
  const int warps_per_sub_partition = device.registers_per_sm / kSubPartitions / per_warp;
  return warps_per_sub_partition * kSubPartitions / warps;
}

int ctas_by_smem(const DeviceSpec& device, int smem_bytes) {
  if (smem_bytes > device.max_smem_per_cta_bytes) return 0;
  const int per_cta =
      round_up(smem_bytes + device.smem_reserved_per_cta_bytes, device.smem_allocation_unit_bytes);
  if (per_cta == 0) return std::numeric_limits<int>::max();
  return device.smem_per_sm_bytes / per_cta;
}

constexpr auto kLimiters = words<OccupancyLimiter>({{OccupancyLimiter::warps, "warps"},
                                                    {OccupancyLimiter::ctas, "ctas"},
                                                    {OccupancyLimiter::registers, "registers"},
                                                    {OccupancyLimiter::smem, "smem"},
                                                    {OccupancyLimiter::impossible, "impossible"}});

}  // namespace

std::string_view to_string(OccupancyLimiter limiter) { return word_of(kLimiters, limiter); }

Occupancy occupancy(const DeviceSpec& device, int threads, int registers, int smem_bytes) {
  const int warps = divide_up(threads, kWarpSize);
  const std::array<std::pair<int, OccupancyLimiter>, 4> limits = {{
      {ctas_by_warps(device, threads, warps), OccupancyLimiter::warps},
      {device.max_ctas_per_sm, OccupancyLimiter::ctas},
      {ctas_by_registers(device, registers, warps), OccupancyLimiter::registers},
      {ctas_by_smem(device, smem_bytes), OccupancyLimiter::smem},
  }};
  const auto& tightest = *std::min_element(
      limits.begin(), limits.end(),
      [](const auto& left, const auto& right) { return left.first < right.first; });
  if (tightest.first == 0) return {};
  const double resident_warps = static_cast<double>(tightest.first) * warps;
  return {tightest.first, tightest.second, resident_warps * kWarpSize / device.max_threads_per_sm};
}

Waves waves(const DeviceSpec& device, std::int64_t grid_ctas, int ctas_per_sm) {
  const std::int64_t slots = static_cast<std::int64_t>(device.sm_count) * ctas_per_sm;
  return {static_cast<double>(grid_ctas) / static_cast<double>(slots), grid_ctas % slots};
}

}  // namespace gemm_tune
