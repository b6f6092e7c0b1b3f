// SPDX-License-Identifier: Apache-2.0
// The parameters of sample (kernel.cuh) and their rules. Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::sample {

struct Params {
  int SPLIT_K, TAIL, TA, TB, FAULT;
};

enum Fault {
  kNone,
  kBatchStride,      // C's matrices as far apart as A's
  kLayoutA,          // A read as if it were not transposed
  kLayoutB,          // B likewise
  kCounterLeft,      // the first counter ends at one
  kOrderOfArrival,   // the last CTA's share goes through the sum twice
  kSharedPartials,   // all shares lie in the slot of the first
  kPartialsTooLong,  // each share lies one slot further
  kEmptyShare,       // a share without slices is left out
};

constexpr int kTile = 16, kSlice = 4;
constexpr int kThreads = kTile * kTile / 4;

constexpr Rule<Params> kRules[] = {
    {"tiles are shared in one way or the other", "SPLIT_K TAIL",
     [](const Params& p) { return p.SPLIT_K > 1 && p.TAIL > 0; }},
};

constexpr const char* reject(const Params& p) {
  if (p.SPLIT_K < 1 || p.TAIL < 0) return "SPLIT_K must be positive, TAIL not negative";
  if (!is_flag(p.TA) || !is_flag(p.TB)) return "TA and TB must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::sample
