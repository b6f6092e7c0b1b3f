// SPDX-License-Identifier: Apache-2.0
// How programs of bench/ that measure the library begin and end: exit code 2 for usage, 3 where
// they cannot measure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

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

// Of the programs that time calls.
struct TimingOptions {
  std::string database, cache;
  double seconds = 20;
  int calls = 64;
  bool require = false;
};

inline void add_timing_options(CLI::App& app, TimingOptions& o, int most_calls) {
  app.add_option("DATABASE", o.database, "Of tuned problems")->required()->check(CLI::ExistingFile);
  app.add_option("--seconds", o.seconds, "Time for all, besides the start")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--calls", o.calls, "In a row")->check(CLI::Range(1, most_calls));
  app.add_option("--kernel-cache", o.cache, "Folder of compiled kernels");
  app.add_flag("--require", o.require, "Exit code 1 where the goal is missed");
}

// What run() returns; 2 or 3, with a sentence, where it throws.
template <class Run>
int exit_code_of(const char* program, const Run& run) {
  try {
    return run();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 3;
  }
}

}  // namespace gemm_tune
