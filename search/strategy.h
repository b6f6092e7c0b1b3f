// Which config to try next: ask/tell over an enumerated list of valid points.
//
// A strategy sees points by index, prior scores and told results; no GPU, clock, disk or global
// state; the same seed and the same tells give the same asks. It knows no budget of its own: the
// caller stops asking. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel_templates/registry.h"

namespace gemm_tune {

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Up to `count` points (indices into the list given at construction), none of them asked or told
  // before; empty when the space is exhausted.
  virtual std::vector<std::size_t> ask(std::size_t count) = 0;

  // The time of a point in microseconds; nothing for one that failed. A point that was never asked
  // may be told too (a result from an earlier run): it counts as tried. Throws std::out_of_range
  // for an index outside the list.
  virtual void tell(std::size_t point, std::optional<double> time_us) = 0;

  // How often it has fitted a model anew: the steps that do take longer than others.
  virtual std::size_t fits() const { return 0; }

  // By what share the best time told is likely to fall with so many more asks, in [0, 1]: 0.02 is
  // "2 % faster". What is under way counts as if it came out as expected. Nothing where there is no
  // model, or too few results for one. Takes as long as an ask.
  virtual std::optional<double> expected_gain(std::size_t /*tries*/) { return std::nullopt; }
};

// Walks the points by ascending prior score (predicted microseconds, one per point; ties in an
// order drawn from the seed) for the first half of the budget, 64 asks at most, then spends every
// second ask on untried neighbours of the best points told. In the walk a near twin of a point
// asked before (no more than two parameters and 1 % of the score apart) counts as 5 % slower than
// its score: what the prior cannot tell apart is not all tried at once. A neighbour belongs to the
// same family and differs in one parameter, changed to the nearest searched value, up or down, that
// gives a point of the list. Of the neighbours it asks the one with the least prior, scaled by how
// far the prior was off at the point it neighbours. points must outlive the strategy. budget: how
// many points will be asked in all. Throws std::invalid_argument where prior_us is not one score
// per point.
std::unique_ptr<Strategy> make_guided(std::span<const KnownConfig> points,
                                      std::vector<double> prior_us, std::size_t budget,
                                      std::uint64_t seed);

// All points in list order.
std::unique_ptr<Strategy> make_exhaustive(std::size_t points);

}  // namespace gemm_tune
