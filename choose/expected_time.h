// SPDX-License-Identifier: Apache-2.0
// The time that a tuned config is expected to take at another problem: the static model's,
// corrected by what was measured where the config was tuned.
//
// Kernels that the model takes for faster or slower than they are keep that error at a problem of
// similar sizes, so that the ratio of measured to modelled time carries over. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "choose/least_time.h"
#include "core/device/device_spec.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// What the static model needs of the device: the figures of its architecture's typical card with
// the device's SM count. Nothing for an architecture without an entry.
std::optional<DeviceSpec> modelled_device(const DeviceKey& device);

// The number if it is a time: above 0 and finite. A database from elsewhere may hold any number.
std::optional<double> if_a_time(double time_us);

// The static model's time of one call in microseconds. Nothing where the model has none.
std::optional<double> modelled_us(const KnownConfig& config, const Problem& problem,
                                  const DeviceSpec& device);

// The measured over the modelled time of the record's config on the record's device; 1 for a record
// whose time is the model's. Nothing where the model has no time.
std::optional<double> correction_of(const KnownConfig& config, const Record& record);

// A config as the static model knows it on an architecture, for many questions.
class ModelledConfig {
 public:
  // Without a time on an architecture without an entry in the table of devices, and of a library's
  // algorithm.
  ModelledConfig(const KnownConfig& config, std::string_view arch);

  // modelled_us() and expected_us() of the config. device: modelled_device() of one of the
  // architecture.
  std::optional<double> us(const Problem& problem, const DeviceSpec& device) const;
  std::optional<double> expected_us(double correction, const Problem& problem,
                                    const DeviceSpec& device) const;

  // Whether the model's times are corrected by what was learned (learned_correction.h).
  bool is_learned() const { return model_ && model_->is_learned(); }

  // Never above these times.
  const LeastTime& least() const { return least_; }

 private:
  std::optional<ConfigModel> model_;
  std::optional<ConfigModel> of_geforce_;  // where these cards are slower
  LeastTime least_;
};

// In microseconds, of one call. Nothing where the model has no time.
std::optional<double> expected_us(const KnownConfig& config, double correction,
                                  const Problem& problem, const DeviceSpec& device);

// The logarithm of the correction to expect of a config at this distance (shape_distance()) from
// where its own was found, beside the device's median. Where times are learned, what a config's own
// time tells beyond that is an accident of its problem: from a distance of 2 on it does not count.
double log_correction_at(double distance, double own, double median, bool is_learned);

// How much a time at a distance (shape_distance()) counts among others, where one at the problem
// itself counts 1.
double weight_at(double distance);

// Of an even number of values the upper one in the middle. Nothing without values.
std::optional<double> median_of(std::vector<double> values);

// The factor by which half of the times are at most off: exp of the median of |log(ratio)|, ratio
// being time over expectation. Nothing without ratios.
std::optional<double> typical_factor(const std::vector<double>& ratios);

}  // namespace gemm_tune
