// SPDX-License-Identifier: Apache-2.0
// All configs that were verified and timed on a device, as candidates for problems that nobody has
// tuned, there or on another device of the architecture: the search for another problem has often
// tried the config that is fast here.
//
// The configs are read and checked at the first question about the device that timed them, which
// takes a millisecond for every hundred. Each later question takes some ten nanoseconds for a
// config that cannot be the fastest, and a hundred for one that may. Any thread.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "choose/made_once.h"
#include "core/device/device_spec.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

namespace timed_configs {
struct Group;
}

// A config that is legal for a problem as it was verified, not as a specialisation.
struct TimedCandidate {
  const KnownConfig* config = nullptr;
  const TimedConfig* row = nullptr;  // of the config, the one at the nearest problem
  double distance = 0;               // of that problem
  double expected_us = 0;
};

// Of a candidate's row the record that a choice rests on, and the layer that it is from.
struct TimedRow {
  Record record;
  std::string layer;
};

class TimedConfigs {
 public:
  // rows: of one architecture, by current kernels.
  explicit TimedConfigs(std::vector<TimedConfig> rows = {});
  ~TimedConfigs();
  TimedConfigs(TimedConfigs&&) noexcept;
  TimedConfigs& operator=(TimedConfigs&&) noexcept;

  // Of the configs that were timed on `timed_on`, the legal ones with the least expected times on
  // the device, `most` at most, the least first. Only those that are expected to take less than
  // below_us.
  std::vector<TimedCandidate> fastest(
      const DeviceKey& timed_on, const DeviceSpec& device, const Problem& problem, std::size_t most,
      double below_us = std::numeric_limits<double>::infinity()) const;

  // Of a candidate's row; its reader makes it.
  const MadeOnce<TimedRow>& whole(const TimedConfig& row) const;

  // By which factor expected times on the device are typically off (typical_factor()): of the
  // configs that were timed at several problems, each time over that expected from the others.
  // Nothing for fewer than five such times with the problem's types and layout.
  std::optional<double> typical_error(const DeviceKey& device, const Problem& problem) const;

 private:
  struct Rows;
  const timed_configs::Group* group_for(const DeviceKey& device, const Problem& problem) const;

  std::unique_ptr<Rows> rows_;  // stay where they are, as does what guards them
};

}  // namespace gemm_tune
