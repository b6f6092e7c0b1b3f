// SPDX-License-Identifier: Apache-2.0
// Measures the host time of calls of a known shape while eight threads make first calls of eight
// other shapes, each of which compiles its kernel.
//
// usage: first_calls DATABASE
// Prints the duration of each first call, and the median and the longest of the known shape's calls
// while any first call was under way. Without a kernel cache: each process compiles. Needs a GPU.
#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/open_kernels.h"

namespace gemm_tune {
namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  gt_transpose a, b;
  std::int64_t edge, ld;
};

// Square products of zeros, on a stream of their own.
class Calls {
 public:
  Calls(gt_handle* handle, const Shape& shape)
      : handle_(handle), shape_(shape), a_(size()), b_(size()), c_(size()) {
    for (DeviceBuffer<float>* buffer : {&a_, &b_, &c_}) buffer->fill_bytes(0, stream_.get());
    stream_.synchronize();
  }

  // Microseconds on the host.
  double call() {
    const auto start = Clock::now();
    const gt_status status = gt_sgemm(handle_, stream_.get(), GT_ROW_MAJOR, shape_.a, shape_.b,
                                      shape_.edge, shape_.edge, shape_.edge, 1.0F, a_.data(),
                                      shape_.ld, b_.data(), shape_.ld, 0.0F, c_.data(), shape_.ld);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (status != GT_OK) throw Error(gt_last_error());
    return took.count();
  }
  void wait() const { stream_.synchronize(); }

 private:
  std::size_t size() const { return static_cast<std::size_t>(shape_.edge * shape_.ld); }

  gt_handle* handle_;
  Shape shape_;
  Stream stream_;
  DeviceBuffer<float> a_, b_, c_;
};

void run(const char* database) {
  gt_handle* handle = nullptr;
  if (open_kernels(database, nullptr, &handle) != GT_OK) throw Error(gt_last_error());
  Calls known(handle, {GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 256, 256});
  known.call();
  known.wait();
  std::vector<Calls> others;
  others.reserve(8);
  for (const gt_transpose a : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
    for (const gt_transpose b : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
      for (const std::int64_t ld : {257, 258}) others.emplace_back(handle, Shape{a, b, 256, ld});
    }
  }
  std::atomic<int> under_way = static_cast<int>(others.size());
  std::vector<double> firsts(others.size()), durations;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < others.size(); ++i) {
    threads.emplace_back([&, i] {
      firsts[i] = others[i].call();
      --under_way;
    });
  }
  while (under_way > 0) {
    durations.push_back(known.call());
    if (durations.size() % 100 == 0) known.wait();
  }
  threads.clear();
  for (const double first : firsts) std::printf("first call %.1f ms\n", first / 1000);
  std::sort(durations.begin(), durations.end());
  std::printf("known shape: %zu calls, median %.1f us, longest %.1f us\n", durations.size(),
              durations[durations.size() / 2], durations.back());
  gt_close(handle);
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: first_calls DATABASE\n");
    return 2;
  }
  try {
    gemm_tune::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_calls: %s\n", error.what());
    return 1;
  }
  return 0;
}
