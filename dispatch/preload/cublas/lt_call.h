// SPDX-License-Identifier: Apache-2.0
// A call of cublasLtMatmul as a CublasCall: what its opaque descriptors say.
//
// A descriptor has some 40 settings, and later versions add more. Only those that a product needs
// are read; a second descriptor is made with just these, and has to be the same bytes. Any other
// setting, known or not, is thereby noticed. Any thread.
#pragma once

#include <optional>

#include "dispatch/preload/cublas/cublas_call.h"

namespace gemm_tune::preload {

// The parameters of cublasLtMatmul that decide; what is opaque is a pointer to bytes.
struct LtArguments {
  const void* descriptor;
  const void* alpha;
  const void* A;
  const void* layout_a;
  const void* B;
  const void* layout_b;
  const void* beta;
  const void* C;
  const void* layout_c;
  void* D;
  const void* layout_d;
};

struct LtCall {
  CublasCall call;
  int pointer_mode = kPointersOnHost;
  std::optional<Reason> against;  // what the descriptors hold against serving it
  bool c_lies_as_d = false;       // C has D's leading dimension and stride
};

// Without sizes and types where the descriptors cannot be read, or may be other structs: cublasLt
// is not of version 13, or a pointer is null. Reads beta, where it is on the host: C and its layout
// are not read beside a beta of 0.
LtCall lt_call(const LtArguments& arguments);

}  // namespace gemm_tune::preload
