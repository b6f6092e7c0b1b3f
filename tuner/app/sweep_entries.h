// SPDX-License-Identifier: Apache-2.0
// A sweep from its entries, whichever kind of file they come from. For the readers of sweep.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/sweep.h"

namespace gemm_tune {

struct Entry {
  std::string key;
  std::map<std::string, std::string> values;  // by parameter
  std::optional<double> time_us;
};

inline constexpr const char* kAbsentValue = "-";       // of a parameter that an entry lacks
inline constexpr const char* kFamilyParam = "family";  // the parameter that names an entry's family

// names: the parameters in the sweep's order. Throws UsageError where there are too many entries or
// values, or where no entry has a time.
Sweep sweep_of(std::string name, const std::vector<std::string>& names,
               const std::vector<Entry>& entries);

// Adds the static model's times. sweep: its problem and device are known. fixed: the values that
// all entries share and none names.
void predict_times(Sweep& sweep, const std::vector<Entry>& entries,
                   const std::map<std::string, std::string>& fixed);

}  // namespace gemm_tune
