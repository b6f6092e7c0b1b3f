// Which config to try next: ask/tell over an enumerated list of valid points.
//
// A strategy sees points by index, prior scores and told results; no GPU, clock, disk or global
// state; the same seed and the same tells give the same asks. Not thread-safe.
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

  // Up to `count` points (indices into the list given at construction) never asked before; empty
  // when the space is exhausted.
  virtual std::vector<std::size_t> ask(std::size_t count) = 0;

  // The time of an asked point in microseconds; nothing for one that failed.
  virtual void tell(std::size_t point, std::optional<double> time_us) = 0;
};

// Walks the points by ascending prior score (predicted microseconds, one per point; ties by index),
// then spends every second ask on untried neighbours (one parameter changed to the next value) of
// the best points told. budget: how many points will be asked in all; it fixes when the walk ends.
std::unique_ptr<Strategy> make_guided(std::span<const KnownConfig> points,
                                      std::vector<double> prior_us, std::size_t budget,
                                      std::uint64_t seed);

}  // namespace gemm_tune
