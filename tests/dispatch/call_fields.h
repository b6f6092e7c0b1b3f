// SPDX-License-Identifier: Apache-2.0
// Fields of a call or of a kernel's argument that belong together, to be compared at once.
#pragma once

#include <cstdint>
#include <vector>

namespace gemm_tune {

using Numbers = std::vector<std::int64_t>;

template <class Call>
Numbers edges(const Call& call) {
  return {call.M, call.N, call.K};
}
template <class Call>
Numbers leading_dimensions(const Call& call) {
  return {call.lda, call.ldb, call.ldc};
}
template <class Call>
Numbers strides(const Call& call) {
  return {call.stride_a, call.stride_b, call.stride_c};
}
template <class Call>
Numbers types(const Call& call) {
  return {call.type_a, call.type_b, call.type_c, call.type_d};
}

}  // namespace gemm_tune
