// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that call the library on a GPU: a handle on the sample database, which holds
// a row for that GPU's architecture. Kernels alone serve.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <filesystem>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

class SampleGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const DeviceSpec device = query_device(0);
    sm_ = device.sm();
    const std::filesystem::path file = temp_.path() / "winners.db";
    write_sample_database(file, device.arch);
    open(file);
  }
  void TearDown() override { gt_close(handle_); }

  // Another database in its place.
  void open(const std::filesystem::path& file) {
    gt_close(handle_);
    handle_ = nullptr;
    ASSERT_EQ(open_kernels(file.c_str(), nullptr, &handle_), GT_OK) << gt_last_error();
  }

  const TempFolder temp_;
  int sm_ = 0;
  gt_handle* handle_ = nullptr;
};

}  // namespace gemm_tune
