// SPDX-License-Identifier: Apache-2.0
// Which config to try next: ask/tell over an enumerated list of valid points.
//
// A strategy sees points by index, what its maker gave it of the space, and told results; no GPU,
// clock, disk or global state; the same seed and the same calls give the same asks. It knows no
// budget of its own: the caller stops asking. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/strategy/stop_rule.h"

namespace gemm_tune {

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Up to `count` points (indices into the list given at construction), none of them asked or told
  // before; empty when the space is exhausted.
  virtual std::vector<std::size_t> ask(std::size_t count) = 0;

  // The time of a point in microseconds; nothing for one that failed. A point that was never asked
  // may be told too (a result from an earlier run): it counts as tried. The order matters: results
  // of earlier runs are told in the order in which these had them. Throws std::out_of_range
  // for an index outside the list.
  virtual void tell(std::size_t point, std::optional<double> time_us) = 0;

  // Keeps a point from being asked for, because another's result shows that it would fail. This is
  // no result, and says nothing of other points. A strategy that tries all points tries this one.
  virtual void spare(std::size_t /*point*/) {}

  // How often it has fitted a model anew: the steps that do take longer than others.
  virtual std::size_t fits() const { return 0; }

  // By what share the best time told is likely to fall with so many more asks, in [0, 1]: 0.02 is
  // "2 % faster". What is under way counts as if it came out as expected. Nothing where there is no
  // model, or too few results for one. Takes as long as some refits.
  virtual std::optional<double> expected_gain(std::size_t /*tries*/) { return std::nullopt; }

  // By the results told so far and what the latest asks expected. Nothing where there is no model
  // or no prior, or it was not asked since the first result.
  virtual std::optional<Outlook> outlook() const { return std::nullopt; }

  // The expected fall of the best log time by what is under way: asked for and not told. Nothing
  // where there is no model or no result, or where configs one step from the best are under way:
  // these are worth waiting for. Takes as long as a refit.
  virtual std::optional<double> gain_under_way() const { return std::nullopt; }
};

// All points in list order.
std::unique_ptr<Strategy> make_exhaustive(std::size_t points);

// A fair draw among the points that were not tried.
std::unique_ptr<Strategy> make_random(std::size_t points, std::uint64_t seed);

}  // namespace gemm_tune
