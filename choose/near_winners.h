// SPDX-License-Identifier: Apache-2.0
// The near winners that may serve a problem, and the times to expect of them and of cuBLAS: numbers
// alone, of which choose() makes its choice and the sentence.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "choose/winner_index.h"
#include "core/device/device_spec.h"

namespace gemm_tune {

// How much faster than what serves otherwise something must be expected to be to take its place:
// the model's order of close times is often wrong.
inline constexpr double kClearlyFaster = 0.97;

// The winners that may serve, the nearest first.
struct NearWinners {
  std::vector<Serving> servings;
  std::optional<DeviceSpec> device;  // as the model knows it; nothing where it does not

  std::optional<double> expected_us(std::size_t index, const Problem& problem) const;
};

// Of the device, or of one other of the architecture where these are better evidence: the device
// has none, or none that is near and measured. Where none was tuned with the problem's epilogue,
// those without any.
NearWinners near_winners(const WinnerIndex& winners, const DeviceKey& device,
                         const Problem& problem, WinnerIndex::Of of);

// Sameness::none where the sizes differ.
Sameness sameness_to(const Serving& serving, const Problem& problem);

// Whether the winner was measured at the very problem on a device of as many SMs: no other kernel
// is compared with it.
bool decides(const Serving& serving, const DeviceKey& device, const Problem& problem);

// The winners of another device of as many SMs, where its nearest decides(); else nothing.
std::optional<NearWinners> winners_of_a_twin(const WinnerIndex& winners, const DeviceKey& device,
                                             const Problem& problem);

// One of the near winners and its expected time.
struct Expected {
  std::size_t index = 0;
  std::optional<double> us;
};

// What share of another kernel's expected time one may be expected to take to serve in its place,
// of_learned telling whether the other's times are learned (search/model/learned_correction.h):
// less where its own are not, the farther away it was tuned.
double most_beside(bool is_learned, double distance, bool of_learned);

// The winner to use, of one at least. Predicted winners are not compared with measured ones. Beside
// one whose times are learned, one whose times are not has to be expected faster by a margin
// (most_beside()), and serves as a specialisation only up to a distance of 2.
Expected fastest(const NearWinners& near, const Problem& problem);

// The time of cuBLAS's own choice, and the nearest winner beside which that was timed.
struct LibraryTime {
  double us = 0;
  const Winner* nearest = nullptr;
};

// At a problem where it was not timed: the time of a suitable kernel by the model, times how much
// longer cuBLAS took at the three nearest tuned problems, the nearer ones weighing more. The
// winners' own times will not do: where none of them suits the problem, cuBLAS still does. At the
// problem itself on another device that row alone counts. Nothing where too little is known.
std::optional<LibraryTime> time_of_library(const WinnerIndex& winners, const NearWinners& near,
                                           const DeviceKey& device, const Problem& problem);

}  // namespace gemm_tune
