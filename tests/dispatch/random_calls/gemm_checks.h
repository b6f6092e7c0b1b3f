// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_checks.cuh on the current device, for programs that check the library.
//
// Every function enqueues its work in the given stream and does not wait. Use one object from one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/problem/gemm_call.h"
#include "core/types/error_bound.cuh"
#include "gpu/compile/nvrtc.h"
#include "gpu/launch/kernel.h"
#include "gpu/launch/memory.h"
#include "kernel_templates/device/element/element_type.cuh"

namespace gemm_tune {

// As in gemm_checks.cuh: element (entry, row, col) is data[entry * stride + row * row_step + col *
// col_step].
struct Matrix {
  void* data = nullptr;
  long long rows = 0, cols = 0, row_step = 0, col_step = 0, stride = 0, batch = 1;
  int type = kTypeF32;
};

// Cells of one type, guards included.
struct Cells {
  void* data = nullptr;
  std::int64_t count = 0;
  int type = kTypeF32;

  std::size_t bytes() const { return static_cast<std::size_t>(count * type_bytes(type)); }
};

enum class Fill : int { whole, uniform, nan };

using Counter = DeviceBuffer<unsigned long long>;  // of one element

// A product whose result is checked.
struct CheckedProduct {
  Matrix A, B, C, bias, D;  // C: not read where beta is 0; bias: only with has_bias
  float alpha = 1, beta = 0;
  bool has_bias = false, has_relu = false;
  bool exact = false;
  ErrorBound bound;
};

// Needs no GPU.
CompileResult compile_gemm_checks(const std::string& arch);

class GemmChecks {
 public:
  // Throws DeviceError without a device.
  GemmChecks();

  void fill_guards(const Cells& cells, cudaStream_t stream) const;
  void set_elements(const Matrix& matrix, std::uint64_t seed, Fill fill, cudaStream_t stream) const;
  // Adds to `wrong` the elements of D that are not the product's, and makes all of them guards.
  void check_elements(const CheckedProduct& product, const Counter& wrong,
                      cudaStream_t stream) const;
  // Adds to `touched` the cells that are no guards.
  void count_touched(const Cells& cells, const Counter& touched, cudaStream_t stream) const;
  // Adds to `different` the cells whose bits differ. others: as many cells of the same type.
  void count_different(const Cells& cells, const void* others, const Counter& different,
                       cudaStream_t stream) const;

 private:
  void launch(const char* kernel, cudaStream_t stream, void** args) const;

  std::map<std::string, LoadedKernel> kernels_;
  int ctas_ = 0;
};

// A counter that is 0, and the value of one once the device is idle.
Counter new_counter();
unsigned long long value_of(const Counter& counter);

}  // namespace gemm_tune
