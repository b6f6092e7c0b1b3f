// SPDX-License-Identifier: Apache-2.0
// A command line that CLI11 refuses, as a sentence that says what to write instead. CLI11's own
// texts are like "The following arguments were not expected: 64 --size". Pure.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace gemm_tune {

// app: as the failed parsing left it.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace gemm_tune
