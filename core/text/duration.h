// SPDX-License-Identifier: Apache-2.0
// Times as texts, in the same form for every locale. Pure.
#pragma once

#include <string>

namespace gemm_tune {

// With three digits and the unit that fits, up to hours: "2.63 us", "340 ms", "71.0 s", "12.5 min".
std::string short_duration_text(double us);

}  // namespace gemm_tune
