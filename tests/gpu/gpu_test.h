// SPDX-License-Identifier: Apache-2.0
// The fixture of every test that runs on a GPU.
//
// Without a device such a test skips, and says so; with GT_REQUIRE_GPU=1 in the environment (the
// gpu preset) it fails instead, so that a lost GPU cannot pass as success.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "gpu/device.h"

namespace gemm_tune {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() > 0) return;
    const char* const required = std::getenv("GT_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") {
      FAIL() << "no CUDA device, and GT_REQUIRE_GPU is 1";
    }
    GTEST_SKIP() << "no CUDA device";
  }
};

}  // namespace gemm_tune
