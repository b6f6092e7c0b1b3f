// SPDX-License-Identifier: Apache-2.0
// How often a test tries what has many cases: the event at which a process is killed.
//
// Pure but for the environment. Any thread.
#pragma once

#include <cstdlib>

namespace gemm_tune {

// `few` for each change, `many` for `./run slow` (gt_test's MANY_ROUNDS).
inline int rounds(int few, int many) {
  return std::getenv("GT_MANY_ROUNDS") == nullptr ? few : many;
}

}  // namespace gemm_tune
