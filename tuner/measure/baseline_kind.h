// SPDX-License-Identifier: Apache-2.0
// What a run's kernels can be compared with: what a user would call instead.
//
// A baseline's name tells the kind: "cublasSgemm", "cublasGemmEx-autotuned", "cublasLt". Pure; any
// thread.
#pragma once

#include <array>
#include <string_view>

namespace gemm_tune {

enum class BaselineKind {
  cublas,            // cublasSgemm, for 16-bit operands cublasGemmEx; strided-batched for a batch
  cublas_autotuned,  // cublasGemmEx with cuBLAS's own autotuning, CUBLAS_GEMM_AUTOTUNE
  cublas_lt,  // of all that cublasLt proposes, what is fastest here: gpu/cuda_libraries/cublas_lt.h
};

inline constexpr std::array kBaselineKinds = {BaselineKind::cublas, BaselineKind::cublas_lt,
                                              BaselineKind::cublas_autotuned};

// "cublas", "cublaslt", "cublas-autotuned".
std::string_view to_string(BaselineKind kind);

// Throws UsageError on an unknown word.
BaselineKind parse_baseline_kind(std::string_view word);

// Of which kind a baseline of this name is.
BaselineKind kind_of(std::string_view baseline_name);

}  // namespace gemm_tune
