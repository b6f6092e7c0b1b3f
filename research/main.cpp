// SPDX-License-Identifier: Apache-2.0
// gemm-tune-research: what studies the search and is not installed. Exit codes: 0 done; 1 a defect
// of the program; 2 usage; 6 database.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "db/database.h"
#include "research/commands.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Studies of the search: no GPU is needed.", "gemm-tune-research");
  app.require_subcommand(1);
  gemm_tune::add_replay(app);
  gemm_tune::add_simulate(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto failed = [](const std::exception& error, int code) {
    std::fprintf(stderr, "gemm-tune-research: %s\n", error.what());
    return code;
  };
  try {
    return run(argc, argv);
  } catch (const gemm_tune::DatabaseError& error) {
    return failed(error, 6);
  } catch (const gemm_tune::UsageError& error) {
    return failed(error, 2);
  } catch (const std::exception& error) {
    return failed(error, 1);
  }
}
