// SPDX-License-Identifier: Apache-2.0
// The fewest configs of which one is near the best at each of several problems. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gemm_tune {

// The time of each config, by row, at each problem, by column; nothing where it has none.
using TimesOfConfigs = std::vector<std::vector<std::optional<double>>>;

// The least time of each problem; nothing where no config has one.
std::vector<std::optional<double>> best_of_each(const TimesOfConfigs& times);

// Rows such that at each problem with a time one of them takes at most (1 + within) times the
// least. Of several lists of the fewest rows the one with the least product of times, ascending.
// Where proving that takes too long, a greedy choice, which may have more rows.
std::vector<std::size_t> fewest_configs(const TimesOfConfigs& times, double within);

}  // namespace gemm_tune
