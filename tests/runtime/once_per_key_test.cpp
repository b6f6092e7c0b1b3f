// SPDX-License-Identifier: Apache-2.0
#include "runtime/once_per_key.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gemm_tune {
namespace {

TEST(OncePerKey, AValueOfAnotherKeyDoesNotWait) {
  OncePerKey<int, std::string> values;
  std::promise<void> begun, released;
  std::jthread slow([&] {
    values.get(1, [&] {
      begun.set_value();
      released.get_future().wait();
      return std::string("slow");
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(values.get(2, [] { return std::string("quick"); }), "quick");
  released.set_value();
}

TEST(OncePerKey, ManyCallersOfOneKeyShareOneMaking) {
  OncePerKey<int, int> values;
  std::atomic<int> made = 0;
  std::vector<std::future<const int*>> callers;
  for (int i = 0; i < 16; ++i) {
    callers.push_back(std::async(std::launch::async, [&] {
      return &values.get(7, [&] {
        std::this_thread::yield();
        return 40 + ++made;
      });
    }));
  }
  const int* const first = callers[0].get();
  EXPECT_EQ(*first, 41);
  for (std::size_t i = 1; i < callers.size(); ++i) EXPECT_EQ(callers[i].get(), first);
  EXPECT_EQ(made, 1);
}

TEST(OncePerKey, AfterAFailureTheNextCallerTriesAgain) {
  OncePerKey<int, int> values;
  EXPECT_THROW(values.get(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(values.get(1, [] { return 5; }), 5);
  EXPECT_EQ(values.get(1, [] { return 6; }), 5);
}

}  // namespace
}  // namespace gemm_tune
