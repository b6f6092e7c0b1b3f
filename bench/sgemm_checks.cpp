// SPDX-License-Identifier: Apache-2.0
#include "bench/sgemm_checks.h"

#include <vector>

#include "bench/sgemm_checks_text.h"
#include "core/error.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"

namespace gemm_tune {

SgemmChecks::SgemmChecks() {
  const DeviceSpec device = query_device(current_device());
  ctas_ = 4 * device.sm_count;
  const CompileResult result = nvrtc_compile({"bench/sgemm_checks.cuh", kSgemmChecksText, {}}, {},
                                             device.arch, "check_elements");
  if (!result.ok) throw Error("bench/sgemm_checks.cuh does not compile: " + result.log);
  for (const char* kernel :
       {"fill_guards", "set_elements", "check_elements", "count_touched", "count_different"}) {
    kernels_.emplace(kernel, LoadedKernel(result.cubin, kernel));
  }
}

void SgemmChecks::launch(const char* kernel, cudaStream_t stream, void** args) const {
  kernels_.at(kernel).launch({ctas_, 1, 1}, 256, 0, stream, args);
}

void SgemmChecks::fill_guards(const DeviceBuffer<float>& buffer, cudaStream_t stream) const {
  const float* cells = buffer.data();
  auto count = static_cast<long long>(buffer.size());
  void* args[] = {&cells, &count};
  launch("fill_guards", stream, args);
}

void SgemmChecks::set_elements(const Matrix& matrix, std::uint64_t seed, Fill fill,
                               cudaStream_t stream) const {
  Matrix m = matrix;
  unsigned long long s = seed;
  int v = static_cast<int>(fill);
  void* args[] = {&m, &s, &v};
  launch("set_elements", stream, args);
}

void SgemmChecks::check_elements(const Matrix& A, const Matrix& B, const Matrix& C,
                                 const Matrix& before, float alpha, float beta, bool exact,
                                 const Counter& wrong, cudaStream_t stream) const {
  Matrix a = A, b = B, c = C, old = before;
  int is_exact = exact ? 1 : 0;
  unsigned long long* counter = wrong.data();
  void* args[] = {&a, &b, &c, &old, &alpha, &beta, &is_exact, &counter};
  launch("check_elements", stream, args);
}

void SgemmChecks::count_touched(const DeviceBuffer<float>& buffer, const Counter& touched,
                                cudaStream_t stream) const {
  const float* cells = buffer.data();
  auto count = static_cast<long long>(buffer.size());
  unsigned long long* counter = touched.data();
  void* args[] = {&cells, &count, &counter};
  launch("count_touched", stream, args);
}

void SgemmChecks::count_different(const DeviceBuffer<float>& cells,
                                  const DeviceBuffer<float>& others, const Counter& different,
                                  cudaStream_t stream) const {
  const float *a = cells.data(), *b = others.data();
  auto count = static_cast<long long>(cells.size());
  unsigned long long* counter = different.data();
  void* args[] = {&a, &b, &count, &counter};
  launch("count_different", stream, args);
}

Counter new_counter() {
  Counter counter(1);
  counter.fill_bytes(0);
  GT_CUDA(cudaDeviceSynchronize());
  return counter;
}

unsigned long long value_of(const Counter& counter) {
  GT_CUDA(cudaDeviceSynchronize());
  std::vector<unsigned long long> value(1);
  counter.copy_to_host(value);
  return value[0];
}

}  // namespace gemm_tune
