// SPDX-License-Identifier: Apache-2.0
// core/device/occupancy.cpp against the occupancy calculator of the CUDA toolkit, which needs no
// GPU.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>

#include "core/device/occupancy.h"

namespace gemm_tune {
namespace {

struct Kernel {
  int threads, registers, smem_bytes;
};

// The toolkit's answer, or nothing where it does not know the device.
std::optional<int> oracle_ctas(const DeviceSpec& device, const Kernel& kernel) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.cc_major;
  properties.computeMinor = device.cc_minor;
  properties.maxThreadsPerBlock = device.max_threads_per_cta;
  properties.maxThreadsPerMultiprocessor = device.max_threads_per_sm;
  properties.regsPerBlock = device.registers_per_cta;
  properties.regsPerMultiprocessor = device.registers_per_sm;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 49152;
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.smem_per_sm_bytes);
  properties.numSms = device.sm_count;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.max_smem_per_cta_bytes);
  properties.reservedSharedMemPerBlock =
      static_cast<std::size_t>(device.smem_reserved_per_cta_bytes);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = device.max_threads_per_cta;
  attributes.numRegs = kernel.registers;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(kernel.smem_bytes);
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, kernel.threads,
      static_cast<std::size_t>(kernel.smem_bytes));
  if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE) return std::nullopt;
  EXPECT_EQ(error, CUDA_OCC_SUCCESS) << device.arch;
  return result.activeBlocksPerMultiprocessor;
}

// Registers and shared memory are skewed to small counts, so that every limit gets its turn to
// bind; threads are often not whole warps, and some kernels exceed what one CTA may have.
Kernel random_kernel(std::mt19937_64& random, const DeviceSpec& device) {
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const int most_smem = device.max_smem_per_cta_bytes + 2048;
  return {uniform(0, 1) != 0 ? 32 * uniform(1, 32) : uniform(1, 1100),
          uniform(1, 255 >> uniform(0, 3)), uniform(0, most_smem >> uniform(0, 6))};
}

TEST(OccupancyOracleTest, AgreesWithTheToolkitOver10000RandomKernels) {
  const std::span<const DeviceSpec> devices = device_table();
  std::mt19937_64 random(20261121);
  std::map<std::string, int> compared;
  std::map<OccupancyLimiter, int> limiters;
  std::set<std::string> unknown_to_the_toolkit;
  for (int i = 0; i < 10'000; ++i) {
    const DeviceSpec& device = devices[static_cast<std::size_t>(i) % devices.size()];
    const Kernel kernel = random_kernel(random, device);
    const std::optional<int> expected = oracle_ctas(device, kernel);
    if (!expected) {
      unknown_to_the_toolkit.insert(device.arch);
      continue;
    }
    const Occupancy result = occupancy(device, kernel.threads, kernel.registers, kernel.smem_bytes);
    ASSERT_EQ(result.ctas_per_sm, *expected)
        << device.arch << ": " << kernel.threads << " threads, " << kernel.registers
        << " registers, " << kernel.smem_bytes << " bytes of shared memory";
    ++compared[device.arch];
    ++limiters[result.limiter];
  }
  EXPECT_EQ(unknown_to_the_toolkit, std::set<std::string>{})
      << "these stay untested: this toolkit's cuda_occupancy.h does not know them";
  for (const DeviceSpec& device : devices) EXPECT_GE(compared[device.arch], 900) << device.arch;
  // The kernels drawn reach every branch.
  for (const OccupancyLimiter limiter :
       {OccupancyLimiter::warps, OccupancyLimiter::ctas, OccupancyLimiter::registers,
        OccupancyLimiter::smem, OccupancyLimiter::impossible}) {
    EXPECT_GE(limiters[limiter], 100) << to_string(limiter);
  }
}

}  // namespace
}  // namespace gemm_tune
