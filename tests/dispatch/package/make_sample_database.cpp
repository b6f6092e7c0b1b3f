// SPDX-License-Identifier: Apache-2.0
// make_sample_database PATH [ARCH]: what the outside project looks things up in; for ARCH, too.
#include <cstdio>
#include <exception>

#include "tests/dispatch/sample_database.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  try {
    gemm_tune::write_sample_database(argv[1], argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
