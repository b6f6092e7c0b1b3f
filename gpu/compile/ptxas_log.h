// SPDX-License-Identifier: Apache-2.0
// Reads the log of --ptxas-options=-v. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core/candidate/outcome.h"

namespace gemm_tune {

// Registers, spill bytes (stores + loads), stack and static shared memory of the named entry
// function; nullopt if the log has no "Used N registers" for it.
std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view entry);

// The line that says that the compiler made wgmma instructions wait for each other (C7508 to C7520)
// or ignored setmaxnreg (C7504), either of which costs most of a kernel's speed; nullopt where none
// does.
std::optional<std::string_view> serialised_wgmma(std::string_view log);

}  // namespace gemm_tune
