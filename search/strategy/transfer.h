// SPDX-License-Identifier: Apache-2.0
// What was measured elsewhere, made into a prior: for the same GPU at another problem, or another
// GPU at the same one.
//
// Times themselves do not carry over, but what the static model got wrong does: a surrogate over
// log(measured / predicted) of the source's configs corrects the prediction for every point of the
// target. Pure. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "search/space/search_space.h"

namespace gemm_tune {

// Timings of one source, a (device, problem) that is not the target's.
struct Evidence {
  double likeness = 0;  // of the source to the target, at most 1
  // A point of the target's space, and the logarithm of its measured over its statically predicted
  // time at the source. Of several for one point the mean counts.
  std::vector<std::pair<std::size_t, double>> log_ratios;
};

// How much of the static model's errors at one problem to expect at another, of one GPU at another:
// 1 for the same, above 0 for any. Both factors of an Evidence's likeness.
double likeness(const Problem& a, const Problem& b);
double likeness(const DeviceSpec& a, const DeviceSpec& b);

// Whether what won at one problem is likely to be among the best at the other: each extent and each
// ratio of two extents within a factor of two, operands of the same types, layout and alignment,
// both or neither covered by whole tiles, and no tensor cores, where later tries gained too often
// (docs/notes/search/stop_rule.md). The ratios count because into how many pieces K is best cut
// depends on K beside the number of tiles.
bool is_near(const Problem& a, const Problem& b);

// The prior (microseconds, one per point, as make_model() takes it) as corrected by the evidence:
// fully where its likeness is 1, hardly where that is near 0 or nothing similar was timed. What is
// infinite or NaN stays so. So many threads work on it, without a difference. Throws
// std::invalid_argument where there is not one prior per point, std::out_of_range for evidence of a
// point that is not in the space.
std::vector<double> transferred_prior(const SearchSpace& space, std::vector<double> prior_us,
                                      std::span<const Evidence> evidence, std::size_t threads = 1);

}  // namespace gemm_tune
