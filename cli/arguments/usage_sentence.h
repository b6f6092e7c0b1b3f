// SPDX-License-Identifier: Apache-2.0
// A command line that CLI11 refuses, as a sentence that says what to write instead. CLI11's own
// texts are like "The following arguments were not expected: 64 --size". Pure.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace gemm_tune {

// Whether the words behind "--" are another program's.
bool takes_application(std::string_view command);

// The innermost command that was named, or the program itself.
const CLI::App& named_command(const CLI::App& app);

// "gemm-tune db merge"; of the program itself "gemm-tune".
std::string full_name(const CLI::App& command);

// Without the program's: "db merge"; empty for the program itself.
std::string name_of_command(const CLI::App& command);

// app: as the failed parsing left it.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace gemm_tune
