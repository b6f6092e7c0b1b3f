// SPDX-License-Identifier: Apache-2.0
// Which rows of a database are stale: by config and kernel, of which many rows have the same.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "db/validity.h"

namespace gemm_tune {

// The ids of a config and a kernel that rows of measurements have, and why these are stale.
struct StaleUse {
  std::int64_t config = 0, kernel = 0;
  std::string why;
};

std::vector<StaleUse> stale_uses(SQLite::Database& db, const KernelHashes& kernels);

}  // namespace gemm_tune
