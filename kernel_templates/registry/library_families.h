// SPDX-License-Identifier: Apache-2.0
// Algorithms of NVIDIA's libraries as families: what is timed, verified, stored and chosen beside
// kernels.
//
// Their configs name no kernel of ours, so that they have no traits, no recipe and no text. An
// algorithm serves the problem for which the library proposed it; `cublas`, the library's own
// choice, serves every problem that the library takes. Their revision is the library's version.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// `cublas`, then `cublaslt`. The values of a cublaslt config are an LtAlgorithm
// (gpu/cuda_libraries/cublas_lt.h).
std::span<const KernelFamily> library_families();
const KernelFamily& cublas_family();
const KernelFamily& cublas_lt_family();

// Whether the text's family is one of these.
bool names_library(std::string_view config);

// What cuBLAS chooses by itself: "cublas/WORKSPACE=33554432".
const KnownConfig& library_choice();

// Scratch memory that a call gets, of a config of a library.
std::int64_t library_workspace_bytes(const KnownConfig& config);

}  // namespace gemm_tune
