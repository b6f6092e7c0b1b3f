// SPDX-License-Identifier: Apache-2.0
// write_sample_header FOLDER: writes the sample database's gemm_tune_sm_86.h there, as input for
// the outside program examples/header.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "choose/export_header.h"
#include "tests/db/sample_database.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "sample.db");
    const gemm_tune::Database database = gemm_tune::sample_database(folder / "sample.db");
    std::ofstream header(folder / "gemm_tune_sm_86.h", std::ios::binary);
    header << gemm_tune::export_header(database, "sm_86", gemm_tune::kRevisions);
    return header.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
