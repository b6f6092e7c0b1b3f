// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/random_calls/gemm_checks.h"

#include <vector>

#include "core/error.h"
#include "gpu/device.h"
#include "tests/dispatch/random_calls/gemm_checks_text.h"
#include "tuner/measure/device_checks_text.h"

namespace gemm_tune {

CompileResult compile_gemm_checks(const std::string& arch) {
  return nvrtc_compile({"tests/dispatch/random_calls/gemm_checks.cuh", kGemmChecksText,
                        device_checks_source().headers},
                       {}, arch, "check_elements");
}

GemmChecks::GemmChecks() {
  const DeviceSpec device = query_device(current_device());
  ctas_ = 4 * device.sm_count;
  const CompileResult result = compile_gemm_checks(device.arch);
  if (!result.ok)
    throw Error("tests/dispatch/random_calls/gemm_checks.cuh does not compile: " + result.log);
  for (const char* kernel :
       {"fill_guards", "set_elements", "check_elements", "count_touched", "count_different"}) {
    kernels_.emplace(kernel, LoadedKernel(result.cubin, kernel));
  }
}

void GemmChecks::launch(const char* kernel, cudaStream_t stream, void** args) const {
  kernels_.at(kernel).launch({ctas_, 1, 1}, 256, 0, stream, args);
}

void GemmChecks::fill_guards(const Cells& cells, cudaStream_t stream) const {
  Cells c = cells;
  void* args[] = {&c.data, &c.count, &c.type};
  launch("fill_guards", stream, args);
}

void GemmChecks::set_elements(const Matrix& matrix, std::uint64_t seed, Fill fill,
                              cudaStream_t stream) const {
  Matrix m = matrix;
  int v = static_cast<int>(fill);
  void* args[] = {&m, &seed, &v};
  launch("set_elements", stream, args);
}

void GemmChecks::check_elements(const CheckedProduct& product, const Counter& wrong,
                                cudaStream_t stream) const {
  CheckedProduct p = product;
  int has_bias = p.has_bias ? 1 : 0, has_relu = p.has_relu ? 1 : 0, exact = p.exact ? 1 : 0;
  unsigned long long* counter = wrong.data();
  void* args[] = {&p.A,    &p.B,      &p.C,      &p.bias, &p.D,     &p.alpha,
                  &p.beta, &has_bias, &has_relu, &exact,  &p.bound, &counter};
  launch("check_elements", stream, args);
}

void GemmChecks::count_touched(const Cells& cells, const Counter& touched,
                               cudaStream_t stream) const {
  Cells c = cells;
  unsigned long long* counter = touched.data();
  void* args[] = {&c.data, &c.count, &c.type, &counter};
  launch("count_touched", stream, args);
}

void GemmChecks::count_different(const Cells& cells, const void* others, const Counter& different,
                                 cudaStream_t stream) const {
  Cells c = cells;
  unsigned long long* counter = different.data();
  void* args[] = {&c.data, &others, &c.count, &c.type, &counter};
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
