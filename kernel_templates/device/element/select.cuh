// SPDX-License-Identifier: Apache-2.0
// One of two types. NVRTC has no <type_traits>.
#pragma once

namespace gemm_tune {

template <bool FIRST, class A, class B>
struct Select {
  using Type = A;
};
template <class A, class B>
struct Select<false, A, B> {
  using Type = B;
};

}  // namespace gemm_tune
