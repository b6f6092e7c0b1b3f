// SPDX-License-Identifier: Apache-2.0
// An element of a product of scaled f16 parts by mma.sync, as the tensor cores of an architecture
// round it (kernel_templates/mma_parts/kernel.cuh). Pure; any thread.
#pragma once

#include <span>

#include "core/types/tensor_core.h"

namespace gemm_tune::emulator {

// Of a row of A and a column of B, of numbers that their parts hold. cut_off: by which share of
// themselves sums are made larger in the end, unless their last four bits are 0.
float product_of_parts(const TensorCore& core, std::span<const float> a, std::span<const float> b,
                       float cut_off);

}  // namespace gemm_tune::emulator
