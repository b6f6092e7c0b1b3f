// SPDX-License-Identifier: Apache-2.0
// A position in the ring of stages through which the copy engine brings slices.
#pragma once

namespace gemm_tune {

// A stage, and the parity of the phases that both of its barriers are in.
template <int STAGES>
struct StageCursor {
  int stage = 0, parity = 0;

  __device__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ void skip(int count) {
    const int to = stage + count;
    parity ^= to / STAGES & 1;
    stage = to % STAGES;
  }
};

}  // namespace gemm_tune
