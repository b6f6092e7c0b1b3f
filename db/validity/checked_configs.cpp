// SPDX-License-Identifier: Apache-2.0
#include "db/validity/checked_configs.h"

#include "core/error.h"

namespace gemm_tune {

const std::optional<KnownConfig>& CheckedConfigs::of(const std::string& text) {
  const auto [known, is_new] = known_.try_emplace(text);
  if (is_new) {
    try {
      known->second = check_config(parse_config(text));
    } catch (const UsageError&) {  // stays empty
    }
  }
  return known->second;
}

bool CheckedConfigs::may_serve(const std::string& text, const Problem& problem) {
  const std::optional<KnownConfig>& config = of(text);
  if (!config) return false;
  return config->family->is_library() || legal_for(*config, problem);
}

}  // namespace gemm_tune
