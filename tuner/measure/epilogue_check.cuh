// SPDX-License-Identifier: Apache-2.0
// What an epilogue makes of a reference value, in fp64, and how far from it a result may lie. The
// functors are those of the kernel that is checked, instantiated for double.
#pragma once

#include "core/types/error_bound.cuh"
#include "kernel_templates/device/call/epilogue_chain.cuh"
#include "tuner/measure/element_bits.cuh"

namespace gemm_tune {

// Of the functors that have one, in their order. Those that lie as D does: where their allocations
// begin, which are as large as D's.
struct CheckedOperands {
  const void* at[6];
};

namespace {

// How a result is judged. exact: it must be the reference rounded once to its type.
struct Judge {
  int type;
  ErrorBound bound;
  bool exact;

  // error: of the value before it is rounded.
  __device__ bool takes(float got, double value, double error) const {
    if (exact) return got == value_of(bits_of(static_cast<float>(value), type), type);
    const double largest = error + bound.stored * (fabs(value) + error) + bound.least;
    return fabs(static_cast<double>(got) - value) <= largest;
  }
};

// An element of D, and its cell in an allocation.
struct CheckedPlace {
  long long row, col, cell;
};

struct CheckedValue {
  double value, error;
  bool good;  // what was stored on the way
};

// Of fp32 arithmetic, in relation to what a functor takes and makes: exp and the like are off by a
// few units in the last place.
constexpr double kFunctorError = 0x1p-20;

template <class FUNCTOR>
__device__ void check_functor(CheckedValue& checked, const CheckedPlace& at, const void* operand,
                              const Judge& judge) {
  constexpr int kOperand = FUNCTOR::kOperand;
  if constexpr (kOperand == kOutputD) {
    const float stored = value_of(load_bits(operand, at.cell, judge.type), judge.type);
    checked.good = checked.good && judge.takes(stored, checked.value, checked.error);
  } else {
    double other = 0;
    if constexpr (kOperand != kNoOperand) {
      constexpr bool kIsF32 =
          kOperand == kScalarF32 || kOperand == kRowF32 || kOperand == kColumnF32;
      const int type = kIsF32 ? kTypeF32 : judge.type;
      const long long place = kOperand == kMatrixD                             ? at.cell
                              : kOperand == kRowF32 || kOperand == kRowD       ? at.row
                              : kOperand == kColumnF32 || kOperand == kColumnD ? at.col
                                                                               : 0;
      other = value_of(load_bits(operand, place, type), type);
    }
    const auto apply = [&](double value) {
      if constexpr (kOperand == kNoOperand) {
        return FUNCTOR::apply(value);
      } else {
        return FUNCTOR::apply(value, other);
      }
    };
    const double value = checked.value, error = checked.error;
    checked.value = apply(value);
    checked.error = fmax(fabs(apply(value + error) - checked.value),
                         fabs(apply(value - error) - checked.value));
    if (!judge.exact) {
      checked.error += kFunctorError * (fabs(value) + fabs(other) + fabs(checked.value));
    }
  }
}

template <class CHAIN>
struct CheckedChain;

template <class... FUNCTORS>
struct CheckedChain<Chain<FUNCTORS...>> {
  static __device__ void apply(CheckedValue& checked, const CheckedPlace& at,
                               const CheckedOperands& operands, const Judge& judge) {
    const void* const* next = operands.at;
    (check_functor<FUNCTORS>(checked, at, FUNCTORS::kOperand == kNoOperand ? nullptr : *next++,
                             judge),
     ...);
  }

  // Whether a cell outside D holds what it did in each operand that is written.
  static __device__ bool leaves(long long cell, unsigned poison, const CheckedOperands& operands,
                                int type) {
    const void* const* next = operands.at;
    [[maybe_unused]] const auto is_left = [&](int kind) {
      const void* const operand = kind == kNoOperand ? nullptr : *next++;
      return kind != kOutputD || load_bits(operand, cell, type) == poison;
    };
    return (true & ... & is_left(FUNCTORS::kOperand));
  }
};

using CheckedEpilogue = CheckedChain<EpilogueChain>;

}  // namespace
}  // namespace gemm_tune
