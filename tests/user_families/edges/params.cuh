// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernel_templates/rules.h"

namespace gemm_tune::edges {

// FAULT 1: the last row is left out where M is no multiple of the tile. 2: hangs.
struct Params {
  int TILE, FAULT;
};

constexpr int threads(const Params& p) { return p.TILE * p.TILE; }

constexpr Rule<Params> kRules[] = {
    {"TILE is not 8, 16 or 32", "TILE",
     [](const Params& p) { return p.TILE != 8 && p.TILE != 16 && p.TILE != 32; }},
    {"FAULT is not 0, 1 or 2", "FAULT", [](const Params& p) { return p.FAULT < 0 || p.FAULT > 2; }},
};

constexpr const char* reject(const Params& p) { return first_broken(kRules, p); }

}  // namespace gemm_tune::edges
