// SPDX-License-Identifier: Apache-2.0
// The kernels of sgemm_checks.cuh on the current device, for programs that check gt_sgemm.
//
// Every function enqueues its work in the given stream and does not wait. Use one object from one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gpu/kernel.h"
#include "gpu/memory.h"

namespace gemm_tune {

// As in sgemm_checks.cuh: element (entry, row, col) is data[entry * stride + row * row_step + col *
// col_step].
struct Matrix {
  float* data = nullptr;
  long long rows = 0, cols = 0, row_step = 0, col_step = 0, stride = 0, batch = 1;
};

enum class Fill : int { whole, uniform, nan };

using Counter = DeviceBuffer<unsigned long long>;  // of one element

class SgemmChecks {
 public:
  // Throws DeviceError without a device.
  SgemmChecks();

  void fill_guards(const DeviceBuffer<float>& buffer, cudaStream_t stream) const;
  void set_elements(const Matrix& matrix, std::uint64_t seed, Fill fill, cudaStream_t stream) const;
  // Adds to `wrong` the elements of C that are not alpha * A * B + beta * before, and makes all of
  // them guards.
  void check_elements(const Matrix& A, const Matrix& B, const Matrix& C, const Matrix& before,
                      float alpha, float beta, bool exact, const Counter& wrong,
                      cudaStream_t stream) const;
  // Adds to `touched` the cells that are no guards.
  void count_touched(const DeviceBuffer<float>& buffer, const Counter& touched,
                     cudaStream_t stream) const;
  // Adds to `different` the cells whose bits differ. Precondition: one size.
  void count_different(const DeviceBuffer<float>& cells, const DeviceBuffer<float>& others,
                       const Counter& different, cudaStream_t stream) const;

 private:
  void launch(const char* kernel, cudaStream_t stream, void** args) const;

  std::map<std::string, LoadedKernel> kernels_;
  int ctas_ = 0;
};

// A counter that is 0, and the value of one once the device is idle.
Counter new_counter();
unsigned long long value_of(const Counter& counter);

}  // namespace gemm_tune
