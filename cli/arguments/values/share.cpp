// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/share.h"

#include <spdlog/fmt/fmt.h>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"

namespace gemm_tune {

double parse_share(const std::string& option, const std::string& text, double least) {
  const bool is_percent = text.ends_with('%');
  const auto number = parse_number<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  const double share = number.value_or(-1) / (is_percent ? 100 : 1);
  if (share >= least && share <= 1) return share;
  throw UsageError(
      fmt::format("{} '{}' is not a share from {:g}% to 100%: write one as in 20% or 0.2", option,
                  excerpt(text), 100 * least));
}

}  // namespace gemm_tune
