// SPDX-License-Identifier: Apache-2.0
// The configs that serve a range of M, as text and as JSON. Pure: values in, text out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tuner/range/range_tuning.h"

namespace gemm_tune {

// A heading and a line for each run of neighbouring M with one config.
std::string range_table(const RangeReport& range);
nlohmann::json range_json(const RangeReport& range);

}  // namespace gemm_tune
