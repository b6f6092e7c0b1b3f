// SPDX-License-Identifier: Apache-2.0
// Batches of pointers over strided storage: what is verified and timed lies as any batch does, and
// a call names it by arrays of addresses.
//
// Belongs to the device that is current. One thread.
#pragma once

#include <cstddef>

#include "core/problem/gemm_call.h"

namespace gemm_tune {

// Device memory for pointing(): none for a strided batch.
std::size_t address_bytes(const Problem& problem);

// The call with arrays of its matrices' addresses, which are written to `arrays`, in place of the
// first addresses. As it is for a strided batch. Precondition: no launch reads the arrays. Throws
// CudaError.
GemmCall pointing(const GemmCall& call, void* arrays);

// The inverse of pointing().
GemmCall pointed(const GemmCall& call);

}  // namespace gemm_tune
