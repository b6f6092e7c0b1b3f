// SPDX-License-Identifier: Apache-2.0
// The M of a range at which one (N, K) is tuned. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem/problem.h"

namespace gemm_tune {

struct MRange {
  std::int64_t first = 1, last = 1;
};

// The ends of the range and, between them, all powers of two and three times these. No two
// neighbours with an M between them are further apart than are_near() says.
std::vector<std::int64_t> sampled_m(const MRange& range);

// These, the first odd one, and what is one below a power of two from 16 on: rows of M elements are
// aligned to one element there.
std::vector<std::int64_t> sampled_m_of_any_alignment(const MRange& range);

// "1:256x4096x4096:layout=nt": the first of problems that differ in M alone, with the range in
// place of M.
std::string range_text(const Problem& first, std::int64_t last);

}  // namespace gemm_tune
