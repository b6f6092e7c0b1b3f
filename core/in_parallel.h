// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace gemm_tune {

// Calls work(0) to work(count - 1), each once, in any order and in as many threads as that, the
// caller's among them. Returns when all are done; rethrows what one of them threw.
template <class Work>
void in_parallel(std::size_t threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < std::min(threads, count); ++i) {
    others.push_back(std::async(std::launch::async, some));
  }
  some();
  for (std::future<void>& other : others) other.get();
}

}  // namespace gemm_tune
