// SPDX-License-Identifier: Apache-2.0
// The texts of --help and --help-all, from the commands and options that CLI11 knows. CLI11's own
// help breaks no line.
#pragma once

#include <cstddef>
#include <string>

namespace CLI {
class App;
}

namespace gemm_tune {

// -h, --help and --help-all of the program, which commands that are added later inherit.
void add_help_flags(CLI::App& app);

// Of the command: usage, options, commands and examples, in lines of so many columns at most, but
// for examples. all: every option and the whole footer; else of a command with many options the
// most used ones, and where all are. Examples are the paragraph of the footer that begins with
// "Examples:". Pure.
std::string help_text(const CLI::App& command, bool all, std::size_t columns);

// The same for standard output: as wide as COLUMNS where it is a number, else as the terminal, else
// 80 columns; from 40 to 100, since longer lines are hard to read.
std::string printed_help(const CLI::App& command, bool all);

}  // namespace gemm_tune
