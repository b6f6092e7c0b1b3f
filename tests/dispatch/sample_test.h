// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that look problems up: a handle on the sample database.
#pragma once

#include <gemm_tune/gemm_tune.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

class SampleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_sample_database(database_);
    ASSERT_EQ(open_database(database_, &handle_), GT_OK) << gt_last_error();
  }
  void TearDown() override { gt_close(handle_); }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path(), database_ = directory_ / "winners.db";
  gt_handle* handle_ = nullptr;
};

}  // namespace gemm_tune
