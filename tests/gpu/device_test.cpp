// SPDX-License-Identifier: Apache-2.0
// What holds on any machine; device_gpu_test.cpp holds what needs a GPU.
#include "gpu/device.h"

#include "core/error.h"
#include "gpu/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(Device, FindsTheVersionInBothDriversProcText) {
  EXPECT_EQ(parse_driver_version(
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct  7 2025\n"
                "GCC version:  gcc version 12.3.0\n"),
            "580.159.04");
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                 "580.82.07  Release Build  (dvs-builder)\n"),
            "580.82.07");
}

TEST(Device, FindsNoVersionInOtherText) {
  EXPECT_EQ(parse_driver_version(""), std::nullopt);
  EXPECT_EQ(parse_driver_version("NVRM version: none\nGCC version: 12.3.0\n"), std::nullopt);
}

TEST(Device, AnOrdinalThatDoesNotExistIsADeviceError) {
  EXPECT_THROW(query_device(-1), DeviceError);
  EXPECT_THROW(query_device(1000), DeviceError);
}

TEST(Device, WithoutADriverThereAreNoDevicesAndTheCheckNamesTheOneToInstall) {
  if (driver_version().has_value()) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(device_count(), 0);
  EXPECT_THAT([] { check_driver(); }, ThrowsMessage<DeviceError>(HasSubstr("580")));
  EXPECT_THAT([] { query_device(0); }, ThrowsMessage<DeviceError>(HasSubstr("580")));
}

TEST(CudaErrorTest, CarriesTheCallTheNameAndTheCode) {
  try {
    check_cuda(cudaErrorInvalidValue, "cudaThing(x)");
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cudaThing(x)"), HasSubstr("cudaErrorInvalidValue")));
  }
}

}  // namespace
}  // namespace gemm_tune
