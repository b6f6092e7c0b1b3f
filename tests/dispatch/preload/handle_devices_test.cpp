// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/cublas/handle_devices.h"

#include <gtest/gtest.h>

#include <memory>

namespace gemm_tune::preload {
namespace {

const void* handle_at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(HandleDevicesTest, KnowsTheDeviceOfEachHandleAndOfNoOther) {
  const auto devices = std::make_unique<HandleDevices>();
  for (std::uintptr_t i = 1; i <= 500; ++i) {
    devices->remember(handle_at(i << 12), static_cast<int>(i % 8));
  }
  for (std::uintptr_t i = 1; i <= 500; ++i) {
    EXPECT_EQ(devices->device_of(handle_at(i << 12)), static_cast<int>(i % 8));
  }
  EXPECT_EQ(devices->device_of(handle_at(501 << 12)), std::nullopt);
  EXPECT_EQ(devices->device_of(nullptr), std::nullopt);
}

TEST(HandleDevicesTest, AHandleAtAnOldAddressIsTheNewOne) {
  const auto devices = std::make_unique<HandleDevices>();
  devices->remember(handle_at(0x7fffdeadbe00), 1);
  devices->remember(handle_at(0x7fffdeadbe00), 7);
  EXPECT_EQ(devices->device_of(handle_at(0x7fffdeadbe00)), 7);
}

TEST(HandleDevicesTest, TheLatestIsKnownHoweverManyThereWere) {
  const auto devices = std::make_unique<HandleDevices>();
  for (std::uintptr_t i = 1; i <= 20000; ++i) {
    devices->remember(handle_at(i << 8), static_cast<int>(i % 5));
    EXPECT_EQ(devices->device_of(handle_at(i << 8)), static_cast<int>(i % 5));
  }
}

}  // namespace
}  // namespace gemm_tune::preload
