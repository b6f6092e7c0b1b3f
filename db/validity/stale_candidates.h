// SPDX-License-Identifier: Apache-2.0
// Which candidates of a database are stale (db/validity/validity.h), of which many rows may be.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "db/validity/validity.h"

namespace gemm_tune {

struct StaleCandidate {
  std::int64_t id = 0;
  std::string why;
};

std::vector<StaleCandidate> stale_candidates(SQLite::Database& db,
                                             const KernelRevisions& revisions);

}  // namespace gemm_tune
