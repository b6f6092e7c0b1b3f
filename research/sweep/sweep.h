// SPDX-License-Identifier: Apache-2.0
// Recorded sweeps: the time of every config of a space, from files of this program or others.
//
// Formats: Kernel Tuner cache files and T4 results (github.com/odgaard/TuningSchema), both as .json
// or .json.gz, and databases of this program (.db), which hold one sweep for each device and
// problem. If a sweep names a family of ours, a problem and a GPU of core/device/device_spec.h,
// each config also gets the static model's time. Writes nothing. Errors are UsageErrors that name
// the file and the entry, for databases DatabaseErrors.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "db/lock_wait.h"
#include "search/space/search_space.h"

namespace gemm_tune {

struct Sweep {
  std::string name;  // of the file, without .json and .gz; for a database its device and problem
  SearchSpace space;
  std::vector<std::string> keys;               // the file's own key of each point
  std::vector<std::optional<double>> time_us;  // nullopt for a point that failed
  // The static model's times from the configs alone; NaN for a config that no longer exists. Empty
  // if problem or device is unknown, or if no config is ours.
  std::vector<double> predicted_us;
  std::optional<Problem> problem;
  std::optional<DeviceSpec> device;
  std::string family;  // ours, if the file names one family for all; empty: a parameter says
};

// Bounds of a sweep, so that it takes some gigabytes of memory at most. Larger files are refused.
inline constexpr std::size_t kMostSweepBytes = 256'000'000;  // of JSON, unpacked
struct SweepBounds {
  std::size_t values = 20'000'000;  // of JSON: numbers, texts, objects
  std::size_t configs = 500'000;
};

// lock: for databases.
std::vector<Sweep> read_sweeps(const std::string& path, const LockWait& lock = {});

// The sweep in a JSON text. name: its name in the result and in error messages.
Sweep parse_sweep(const std::string& text, const std::string& name, const SweepBounds& bounds = {});

// The static model's times of a sweep, corrected by the measured times of other sweeps
// (search/strategy/transfer.h): of each those of the `known` configs that its model expects to be
// the fastest. Throws UsageError if the sweep or another sweep has no times of the model.
std::vector<double> transferred_prior(const Sweep& sweep, std::span<const Sweep* const> others,
                                      std::size_t known = std::numeric_limits<std::size_t>::max());

// The times of another sweep as a prior for a search of this one. Points correspond if all
// parameters that both sweeps have are equal; several corresponding times give their geometric
// mean, none or only failures give NaN. Throws UsageError if no points correspond.
std::vector<double> prior_from(const Sweep& other, const Sweep& sweep);

}  // namespace gemm_tune
