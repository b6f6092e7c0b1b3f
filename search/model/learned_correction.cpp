// SPDX-License-Identifier: Apache-2.0
#include "search/model/learned_correction.h"

#include <algorithm>
#include <cmath>

namespace gemm_tune {

double correction(std::span<const CorrectionTree> trees, const CorrectionFeatures& features) {
  double log = 0;
  for (const CorrectionTree& tree : trees) {
    std::size_t node = 0;
    for (std::size_t depth = 0; depth < CorrectionTree::kDepth; ++depth) {
      node = 2 * node + (features[tree.feature[node]] <= tree.most[node] ? 1 : 2);
    }
    log += tree.value[node - tree.feature.size()];
  }
  return std::clamp(std::exp(log), kLeastCorrection, kMostCorrection);
}

}  // namespace gemm_tune
