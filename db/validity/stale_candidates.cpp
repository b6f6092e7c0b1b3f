// SPDX-License-Identifier: Apache-2.0
#include "db/validity/stale_candidates.h"

namespace gemm_tune {

std::vector<StaleCandidate> stale_candidates(SQLite::Database& db,
                                             const KernelRevisions& revisions) {
  std::vector<StaleCandidate> stale;
  SQLite::Statement all(db, "SELECT id, config, revision FROM candidates");
  while (all.executeStep()) {
    const auto why =
        why_stale(all.getColumn(1).getString(), all.getColumn(2).getString(), revisions);
    if (why) stale.push_back({all.getColumn(0).getInt64(), *why});
  }
  return stale;
}

}  // namespace gemm_tune
