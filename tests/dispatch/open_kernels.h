// SPDX-License-Identifier: Apache-2.0
// Handles on a database: one with the defaults, and one that serves by kernels alone, tuned or not,
// for tests and measurements of the kernels, which cuBLAS must not serve in their place.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <filesystem>

namespace gemm_tune {

inline gt_status open_database(const std::filesystem::path& database, gt_handle** handle) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = database.c_str();
  return gt_open(&options, handle);
}

inline gt_status open_kernels(const char* database, const char* cache, gt_handle** handle) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = database;
  options.kernel_cache = cache;
  options.policy = GT_POLICY_DETERMINISTIC;
  return gt_open(&options, handle);
}

}  // namespace gemm_tune
