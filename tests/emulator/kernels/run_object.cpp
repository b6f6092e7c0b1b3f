// SPDX-License-Identifier: Apache-2.0
// emulator_run OBJECT CONFIG: all cases of the family tests on one shared object, for mutants.py.
//
// Exits 0 where every case passes, 1 with one line on the first that does not.
#include <cstdio>
#include <exception>

#include "tests/emulator/kernels/emulated_kernel.h"
#include "tests/emulator/kernels/split_operands.h"

int main(int argc, char** argv) try {
  using namespace gemm_tune;
  using namespace gemm_tune::emulator;
  if (argc != 3) {
    std::fputs("usage: emulator_run OBJECT CONFIG\n", stderr);
    return 2;
  }
  EmulatedKernel kernel(argv[1], argv[2]);
  for (const auto list :
       {barrier_cases, share_cases, batch_cases, scale_cases, edge_cases, far_cases}) {
    for (const Case& c : list(kernel.config())) {
      if (const auto wrong = kernel.check(c)) {
        std::printf("%s: %s\n", to_string(c).c_str(), wrong->c_str());
        return 1;
      }
    }
  }
  const AccuracyInfo& accuracy = info_of(kernel.config().traits.signature.accuracy);
  const bool is_8_bits = info_of(kernel.config().traits.signature.a).bits == 8;
  if (accuracy.parts_bits > 0 || is_8_bits) {  // operands are rounded, or sums to few bits
    for (const Case& c : rounding_cases(kernel.config())) {
      if (const auto wrong = kernel.check(c)) {
        std::printf("%s: %s\n", to_string(c).c_str(), wrong->c_str());
        return 1;
      }
    }
  }
  if (accuracy.products > 1) {
    if (const auto wrong = wrong_of_split_operands(kernel)) {
      std::printf("%s\n", wrong->c_str());
      return 1;
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
