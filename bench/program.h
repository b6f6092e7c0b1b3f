// SPDX-License-Identifier: Apache-2.0
// How programs of bench/ that measure the library begin and end: exit code 2 for usage, 3 where
// they cannot measure.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>

#include "core/error.h"

namespace gemm_tune {

// Ends the program after --help, and with 2 where the arguments are wrong.
inline void parse_or_exit(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
}

// What run() returns; 2 or 3, with a sentence, where it throws.
template <class Run>
int exit_code_of(const char* program, const Run& run) {
  try {
    return run();
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 3;
  }
}

}  // namespace gemm_tune
