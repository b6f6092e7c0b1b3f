// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_checks.cuh against products that the host computes in fp64.
#pragma once

namespace gemm_tune {

// For each pair of types and each epilogue: the host's product passes, and does not with one
// element changed. Throws Error where the kernels find otherwise.
void check_the_checks();

}  // namespace gemm_tune
