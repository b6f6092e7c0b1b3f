// SPDX-License-Identifier: Apache-2.0
// An outside program on an exported header: which kernel would it launch for a problem, and how?
//
//   c++ -std=c++17 -I FOLDER_OF_THE_HEADER main.cpp && ./a.out 1000 1000 1000
#include <cstdio>
#include <cstdlib>

#include "gemm_tune_sm_86.h"

namespace tuned = gemm_tune_sm_86;

// The look-up also works while compiling: a program of fixed sizes pays nothing for it.
constexpr tuned::Lookup kFixed = tuned::lookup({1024, 1024, 1024, /*alignment=*/4});
static_assert(kFixed.match == tuned::Match::exact, "tuned for 1024");
static_assert(kFixed.kernel->value("BM") == kFixed.kernel->tile_m, "parameters by name");

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long long M = std::atoll(argv[1]), N = std::atoll(argv[2]), K = std::atoll(argv[3]);
  // The alignment of each operand, so that kernels with wider accesses to some of them are found.
  const tuned::Problem problem = tuned::aligned_by({M, N, K}, /*lda=*/K, /*ldb=*/N, /*ldc=*/N);
  const tuned::Lookup found = tuned::lookup(problem);
  if (found.match == tuned::Match::none) return 1;
  const char* const how[] = {"exact", "nearest", "default"};
  std::printf("%s%s: %s, %lld blocks of %d threads with %d bytes of shared memory",
              how[static_cast<int>(found.match)],
              found.is_specialisation ? " (specialisation)" : "", found.kernel->config,
              found.kernel->grid(problem, /*sm_count=*/84).x, found.kernel->block_threads,
              found.kernel->smem_bytes);
  if (found.winner != nullptr) {
    std::printf("; %s %.1f us on %s", found.winner->measured ? "measured" : "predicted",
                found.winner->time_us, found.winner->device);
  }
  std::printf("\n");
}
