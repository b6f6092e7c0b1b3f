// SPDX-License-Identifier: Apache-2.0
// A handle that serves by kernels alone, tuned or not: for tests and measurements of the kernels,
// which cuBLAS must not serve in their place.
#pragma once

#include <gemm_tune/gemm_tune.h>

namespace gemm_tune {

inline gt_status open_kernels(const char* database, const char* cache, gt_handle** handle) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = database;
  options.kernel_cache = cache;
  options.policy = GT_POLICY_DETERMINISTIC;
  return gt_open_with(&options, handle);
}

}  // namespace gemm_tune
