// SPDX-License-Identifier: Apache-2.0
// The shapes at which a kernel is verified and timed, and how their matrices lie in memory. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem/gemm_call.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// A call of the problem without addresses, C in D: the shape that is checked and timed. Packed
// where that has the problem's alignment; otherwise each leading dimension is the smallest that has
// its operand's. The matrices of a batch follow one another without gaps.
GemmCall shape_of(const Problem& problem);

// Equally far apart matrices inside an allocation, each of rows stored one after another. In
// elements; what the kernels of device_checks.cuh take.
struct Matrices {
  long long rows = 0, cols = 0, ld = 0;
  long long stride = 1, count = 1;
  long long guard = 0;  // cells before the first matrix and after the last
  ElementType type{};

  std::size_t size() const {
    return static_cast<std::size_t>(2 * guard + (count - 1) * stride + rows * ld);
  }
  std::size_t bytes() const { return size() * static_cast<std::size_t>(bytes_of(type)); }
};

// Without guards. The stride counts for a batch only.
Matrices matrices(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t stride,
                  std::int64_t batch, ElementType type);

// A, B and C, which is D, of a shape as they are stored.
Matrices matrices_a(const GemmCall& shape);
Matrices matrices_b(const GemmCall& shape);
Matrices matrices_c(const GemmCall& shape);

// Small shapes at which a config of this kind is checked before the tuned one, in its layout:
// several tiles with gaps between rows, A and B unaligned for REPACK, deep enough for every CTA
// that shares tiles to get its part of K; a batch with gaps between its matrices, of pointers also
// with unaligned ones; for a predicated kernel also a tiny one and one that is ragged on every
// edge. sm_count: of the device that launches. epilogue: of the shapes.
std::vector<GemmCall> small_verification_shapes(const KnownConfig& config, int sm_count,
                                                const Epilogue& epilogue = {});

}  // namespace gemm_tune
