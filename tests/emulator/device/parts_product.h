// SPDX-License-Identifier: Apache-2.0
// Elements of products of scaled f16 parts: by mma.sync, as the tensor cores of an architecture
// round them (kernel_templates/mma_parts/kernel.cuh), and in fp32 (device/parts/losing_lines.cuh).
// Pure; any thread.
#pragma once

#include <span>

#include "core/types/tensor_core.h"

namespace gemm_tune::emulator {

// Of a row of A and a column of B, of numbers that their parts hold. cut_off: by which share of
// themselves sums are made larger in the end, unless their last four bits are 0.
float product_of_parts(const TensorCore& core, std::span<const float> a, std::span<const float> b,
                       float cut_off);

// On a line that loses numbers. others_along_k: whether the lines that it meets lie along K. fused:
// whether a product is rounded together with the addition.
float product_on_losing_line(std::span<const float> line, std::span<const float> other,
                             bool others_along_k, bool fused);

}  // namespace gemm_tune::emulator
