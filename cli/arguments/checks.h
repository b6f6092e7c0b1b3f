// SPDX-License-Identifier: Apache-2.0
// Checks of options' values, each with a sentence that names the value. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace gemm_tune {

// CLI11's own parser accepts 0x10, 010 as 8, " 5", and -1 for an unsigned number.
CLI::Validator whole_number(std::int64_t least, std::int64_t greatest);

// Of 64 bits, without a sign.
CLI::Validator any_seed();

CLI::Validator number(double least, double greatest);

// CLI11's own check says "foo not in {model,random}".
CLI::Validator one_of(const std::vector<std::string>& names);

// Refuses an empty value of any option of the command and of those within it: it comes from a
// script's empty variable, not from a wish for the default.
void refuse_empty_texts(CLI::App& command);

}  // namespace gemm_tune
