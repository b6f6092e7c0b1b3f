// SPDX-License-Identifier: Apache-2.0
// The parameters of faulty (kernel.cuh) and their rules. Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::faulty {

struct Params {
  int FAULT, ID;
};

enum Fault {
  kIllegalAddress = 1,
  kMisaligned,
  kTrap,
  kEndlessLoop,
  kWrongResult,
  kNan,
  kUnwrittenTile,
  kGuardBand,     // writes just before C
  kSharedMemory,  // static and dynamic together exceed the SM's
  kEndlessCompile,
  kAllocation,  // a workspace larger than any card
  kFaults = kAllocation,
};

constexpr int kTile = 16;

constexpr Rule<Params> kRules[] = {
    {"no such fault", "FAULT", [](const Params& p) { return p.FAULT < 1 || p.FAULT > kFaults; }},
};

constexpr const char* reject(const Params& p) {
  if (p.ID < 0) return "ID must not be negative";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::faulty
