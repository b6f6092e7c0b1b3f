// SPDX-License-Identifier: Apache-2.0
// Recorded sweeps: what every config of a space took, from files that this program or others wrote.
//
// Read: Kernel Tuner cache files, T4 results (github.com/odgaard/TuningSchema), both as .json or
// .json.gz, and databases of this program (.db), which hold a sweep for each device and problem.
// Where a sweep names a family of ours, a problem and a GPU that core/device_spec.h knows, the
// static model's time of each config comes with it. Nothing is written. Errors are UsageErrors that
// name the file and the entry, those of a database DatabaseErrors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device_spec.h"
#include "core/problem.h"
#include "db/lock_wait.h"
#include "search/search_space.h"

namespace gemm_tune {

struct Sweep {
  std::string name;  // the file's, without .json and .gz; of a database its device and problem
  SearchSpace space;
  std::vector<std::string> keys;               // what the file calls each point
  std::vector<std::optional<double>> time_us;  // nothing for a point that failed
  // By the static model from the config alone, where the next two are known: NaN for a config that
  // is none of ours any more; empty where it knows none of them.
  std::vector<double> predicted_us;
  std::optional<Problem> problem;
  std::optional<DeviceSpec> device;
  std::string family;  // of ours, where a file says that it is all of one; empty: a parameter says
};

// What a sweep may hold: some gigabytes of memory at most. Larger files are refused.
inline constexpr std::size_t kMostSweepBytes = 256'000'000;  // of JSON, unpacked
inline constexpr std::size_t kMostSweepValues = 20'000'000;  // of JSON: numbers, texts, objects
inline constexpr std::size_t kMostSweepConfigs = 500'000;

// lock: where the file is a database.
std::vector<Sweep> read_sweeps(const std::string& path, const LockWait& lock = {});

// The sweeps that a text holds: JSON, called `name` in the result and in errors.
Sweep parse_sweep(const std::string& text, const std::string& name);

// The static model's times of a sweep as the measured times of others correct them
// (search/transfer.h). Throws UsageError where the sweep or one of the others has no such times.
std::vector<double> transferred_prior(const Sweep& sweep, std::span<const Sweep* const> others);

// What another sweep says of this one's points, as a prior for a search: the time of the point with
// the same values of all parameters that both have, the geometric mean where there are several, NaN
// where there is none or it failed. Throws UsageError where no point is found.
std::vector<double> prior_from(const Sweep& other, const Sweep& sweep);

}  // namespace gemm_tune
