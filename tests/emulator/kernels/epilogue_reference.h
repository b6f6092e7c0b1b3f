// SPDX-License-Identifier: Apache-2.0
// What an epilogue makes of a value, in fp64: written a second time, apart from the kernels' text.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string_view>

#include "core/problem/epilogue.h"

namespace gemm_tune::emulator {

// Of a value and an operand's element, which functors without one leave aside.
inline const std::function<double(double, double)>& reference_of(const EpilogueFunctor& functor) {
  using Function = std::function<double(double, double)>;
  static const std::map<std::string_view, Function> references = {
      {"scale", std::multiplies<>()},
      {"scale_row", std::multiplies<>()},
      {"scale_column", std::multiplies<>()},
      {"bias_row", std::plus<>()},
      {"bias_column", std::plus<>()},
      {"relu", [](double x, double) { return x < 0 ? 0 : x; }},
      {"gelu_tanh",
       [](double x, double) {
         return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
       }},
      {"gelu_erf", [](double x, double) { return x * std::erfc(-x / M_SQRT2) / 2; }},
      {"silu", [](double x, double) { return x * (1 + std::tanh(x / 2)) / 2; }},
      {"residual", std::plus<>()},
  };
  return references.at(functor.name);
}

}  // namespace gemm_tune::emulator
