// SPDX-License-Identifier: Apache-2.0
// Makes a sweep from its entries, for the readers of every file format (sweep.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "research/sweep/sweep.h"

namespace gemm_tune {

struct Entry {
  std::string key;
  std::map<std::string, std::string> values;  // by parameter
  std::optional<double> time_us;
};

inline constexpr const char* kAbsentValue = "-";       // for a parameter that an entry lacks
inline constexpr const char* kFamilyParam = "family";  // the parameter that names an entry's family

// names: the parameters in the sweep's order. Throws UsageError if there are too many entries or
// values, or if no entry has a time.
Sweep sweep_of(std::string name, const std::vector<std::string>& names,
               const std::vector<Entry>& entries, const SweepBounds& bounds = {});

// Adds the static model's times. The sweep's problem and device must be known. fixed: values that
// all entries share and do not list themselves.
void predict_times(Sweep& sweep, const std::vector<Entry>& entries,
                   const std::map<std::string, std::string>& fixed);

}  // namespace gemm_tune
