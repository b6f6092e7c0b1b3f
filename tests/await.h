// SPDX-License-Identifier: Apache-2.0
// Waits for an event in another process or thread that the test can only look for.
//
// No test gives up by its own clock: ctest's limit ends a test whose event never comes.
#pragma once

#include <chrono>
#include <thread>

namespace gemm_tune {

template <class Condition>
void await(const Condition& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace gemm_tune
