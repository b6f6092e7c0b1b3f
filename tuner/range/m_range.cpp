// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/m_range.h"

#include <set>

namespace gemm_tune {

std::vector<std::int64_t> sampled_m(const MRange& range) {
  std::set<std::int64_t> sizes = {range.first, range.last};
  for (const std::int64_t begin : {1, 3}) {
    for (std::int64_t m = begin; m <= range.last; m *= 2) {
      if (m >= range.first) sizes.insert(m);
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> sampled_m_of_any_alignment(const MRange& range) {
  const std::vector<std::int64_t> plain = sampled_m(range);
  std::set<std::int64_t> sizes(plain.begin(), plain.end());
  if (const std::int64_t odd = range.first | 1; odd <= range.last) sizes.insert(odd);
  for (std::int64_t power = 16; power - 1 <= range.last; power *= 2) {
    if (power - 1 >= range.first) sizes.insert(power - 1);
  }
  return {sizes.begin(), sizes.end()};
}

std::string range_text(const Problem& first, std::int64_t last) {
  const std::string text = to_string(first);
  return std::to_string(first.M) + ":" + std::to_string(last) + text.substr(text.find('x'));
}

}  // namespace gemm_tune
