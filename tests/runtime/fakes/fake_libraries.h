// SPDX-License-Identifier: Apache-2.0
// What tests know of the cuBLAS and the cublasLt that they are linked with, which need no GPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gemm_tune {

// The structure in which the fake hands an algorithm out.
struct FakeAlgorithm {
  std::uint32_t attributes[9];  // by the attribute's number
  std::uint32_t hidden[7];      // of which no attribute tells

  friend bool operator==(const FakeAlgorithm&, const FakeAlgorithm&) = default;
};

// Algorithms from this number on can be proposed, but not made.
inline constexpr int kUnmakeable = 70;

// Those of the calls of cublasLtMatmul that were taken.
std::vector<FakeAlgorithm>& algorithms_run();

// The workspaces of the calls of cuBLAS's own functions.
std::vector<void*>& choices_run();

}  // namespace gemm_tune
