// SPDX-License-Identifier: Apache-2.0
// A libgemm_tune.so.0 for tests: its answers are set by hand, and its calls recorded. It opens no
// database that GEMM_TUNE_DB names and that does not exist.
//
// What is atomic may be used from any thread; all else belongs to one thread at a time.
#pragma once

#include <atomic>
#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

struct FakeLibrary {
  // An exact match that was timed at 9 us beside cuBLAS's 10.
  gt_recipe recipe = [] {
    gt_recipe found{};
    found.match = GT_MATCH_EXACT;
    found.tuned_us = 9;
    found.baseline_us = 10;
    found.distance = 1;
    return found;
  }();
  gt_policy policy = GT_POLICY_MAX;  // that it was opened with
  std::atomic<gt_status> open_status = GT_OK, refresh_status = GT_OK;
  std::atomic<bool> has_others = false;  // winners, that the next gt_refresh takes
  std::atomic<int> refreshes = 0;
  gt_status lookup_status = GT_OK, gemm_status = GT_OK;
  std::string error = "the fake failed", explanation = "the fake explains";
  std::atomic<int> lookups = 0, served = 0;
  gt_gemm_call call = GT_GEMM_CALL_INIT;  // the last that was served, where `records`
  void* stream = nullptr;
  bool records = true;
};

}  // namespace gemm_tune

// The one of the process.
extern "C" gemm_tune::FakeLibrary* fake_library();
