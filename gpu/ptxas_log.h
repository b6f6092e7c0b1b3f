// SPDX-License-Identifier: Apache-2.0
// Reads the log of --ptxas-options=-v. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core/outcome.h"

namespace gemm_tune {

// Registers, spill bytes (stores + loads), stack and static shared memory of the named entry
// function; nullopt if the log has no "Used N registers" for it.
std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view entry);

}  // namespace gemm_tune
