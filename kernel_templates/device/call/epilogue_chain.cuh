// SPDX-License-Identifier: Apache-2.0
// The functors of a kernel's epilogue: TUNED_EPILOGUE names them in the order in which they are
// applied, as in BiasColumn,Relu, and TUNED_EPILOGUE_1 and so on are their files.
//
// A functor is a struct with kOperand (device/call/epilogue_operands.cuh) and apply(value) or
// apply(value, operand), of float in kernels and of double in references: device/call/functor.cuh
// has what most derive from. The operands' addresses are the kernel's last arguments, in the
// functors' order.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"
#include "kernel_templates/device/element/element.cuh"

#ifdef TUNED_EPILOGUE_1
#include TUNED_EPILOGUE_1
#endif
#ifdef TUNED_EPILOGUE_2
#include TUNED_EPILOGUE_2
#endif
#ifdef TUNED_EPILOGUE_3
#include TUNED_EPILOGUE_3
#endif
#ifdef TUNED_EPILOGUE_4
#include TUNED_EPILOGUE_4
#endif
#ifdef TUNED_EPILOGUE_5
#include TUNED_EPILOGUE_5
#endif
#ifdef TUNED_EPILOGUE_6
#include TUNED_EPILOGUE_6
#endif
#ifdef TUNED_EPILOGUE_7
#include TUNED_EPILOGUE_7
#endif

namespace gemm_tune {

// Where neighbours of a row of D lie: the first one's row and column, and its distance from the
// first element of D.
struct OutputPlace {
  int row, col;
  long long first;
};

// TYPE: of D. What a functor with this operand makes of COUNT neighbours; an operand that lies as D
// does is accessed at once.
template <int TYPE, class FUNCTOR, int COUNT>
__device__ inline void apply_functor(float (&values)[COUNT], const OutputPlace& at,
                                     const void* operand) {
  using D = Element<TYPE>;
  constexpr int kOperand = FUNCTOR::kOperand;
  if constexpr (kOperand == kOutputD) {
    Elements<TYPE, COUNT> out;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) out.x[i] = D::of(values[i]);
    D* const first = static_cast<D*>(const_cast<void*>(operand)) + at.first;
    *reinterpret_cast<Elements<TYPE, COUNT>*>(first) = out;
  } else if constexpr (kOperand == kMatrixD) {
    const D* const first = static_cast<const D*>(operand) + at.first;
    const auto other = *reinterpret_cast<const Elements<TYPE, COUNT>*>(first);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) values[i] = FUNCTOR::apply(values[i], other.x[i].value());
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if constexpr (kOperand == kNoOperand) {
        values[i] = FUNCTOR::apply(values[i]);
      } else if constexpr (kOperand == kRowD || kOperand == kColumnD) {
        const int line = kOperand == kRowD ? at.row : at.col + i;
        values[i] = FUNCTOR::apply(values[i], static_cast<const D*>(operand)[line].value());
      } else {
        const int line = kOperand == kScalarF32 ? 0 : kOperand == kRowF32 ? at.row : at.col + i;
        values[i] = FUNCTOR::apply(values[i], static_cast<const float*>(operand)[line]);
      }
    }
  }
}

// Functors, one after another.
template <class... FUNCTORS>
struct Chain {
  static constexpr int kOperands = (0 + ... + (FUNCTORS::kOperand == kNoOperand ? 0 : 1));

  template <int TYPE, int COUNT>
  static __device__ void apply(float (&values)[COUNT], const OutputPlace& at,
                               const void* const* operands) {
    (apply_functor<TYPE, FUNCTORS>(values, at,
                                   FUNCTORS::kOperand == kNoOperand ? nullptr : *operands++),
     ...);
  }
};

#ifdef TUNED_EPILOGUE
using EpilogueChain = Chain<TUNED_EPILOGUE>;
#else
using EpilogueChain = Chain<>;
#endif

}  // namespace gemm_tune
