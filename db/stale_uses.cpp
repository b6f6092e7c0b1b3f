// SPDX-License-Identifier: Apache-2.0
#include "db/stale_uses.h"

namespace gemm_tune {

std::vector<StaleUse> stale_uses(SQLite::Database& db, const KernelHashes& kernels) {
  std::vector<StaleUse> stale;
  SQLite::Statement uses(db, R"sql(
    SELECT DISTINCT m.config_id, m.kernel_id, c.text, k.hash
    FROM measurements m
    JOIN configs c ON c.id = m.config_id
    JOIN kernels k ON k.id = m.kernel_id)sql");
  while (uses.executeStep()) {
    const auto why =
        why_stale(uses.getColumn(2).getString(), uses.getColumn(3).getString(), kernels);
    if (why) stale.push_back({uses.getColumn(0).getInt64(), uses.getColumn(1).getInt64(), *why});
  }
  return stale;
}

}  // namespace gemm_tune
