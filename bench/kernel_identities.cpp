// SPDX-License-Identifier: Apache-2.0
// Prints the names of each family's kernel: family, hash in databases of version 1, identity.
//
// usage: kernel_identities [DIR]
//   DIR: a folder that holds a kernel_templates/; default: the texts inside the program.
// If a line has the same identity in two commits, the kernels have the same tokens. Needs no GPU.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc > 2) {
    std::fprintf(stderr, "usage: kernel_identities [DIR]\n");
    return 2;
  }
  const auto dir = argc == 2 ? std::optional<std::filesystem::path>(argv[1]) : std::nullopt;
  try {
    for (const KernelFamily& family : families()) {
      const KernelSource source = kernel_source(family, dir);
      std::printf("%s %s %s\n", family.name.c_str(), version_1_hash(source).c_str(),
                  source.hash.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernel_identities: %s\n", error.what());
    return 1;
  }
  return 0;
}
