// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/ladder.h"

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

std::vector<Rung> ladder() {
  std::vector<Rung> all;
  for (const KernelFamily& family : families()) {
    all.insert(all.end(), family.rungs.begin(), family.rungs.end());
  }
  return all;
}

}  // namespace gemm_tune
