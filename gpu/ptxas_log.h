// SPDX-License-Identifier: Apache-2.0
// Reads what --ptxas-options=-v printed. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core/outcome.h"

namespace gemm_tune {

// Registers, spill bytes (stores + loads), stack and static shared memory of the named entry
// function; nothing where the log has no "Used N registers" for it.
std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view entry);

}  // namespace gemm_tune
