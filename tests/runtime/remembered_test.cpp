// SPDX-License-Identifier: Apache-2.0
#include "runtime/remembered.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gemm_tune {
namespace {

struct Number {
  int value;
  std::size_t hash() const { return static_cast<std::size_t>(value); }
  friend bool operator==(const Number&, const Number&) = default;
};

// Every key has the same hash, so that each search meets all entries before it.
struct Colliding {
  std::string text;
  std::size_t hash() const { return 7; }
};
struct CollidingView {
  std::string_view text;
  std::size_t hash() const { return 7; }
};
bool operator==(const Colliding& a, const Colliding& b) { return a.text == b.text; }
bool operator==(const Colliding& a, const CollidingView& b) { return a.text == b.text; }

TEST(RememberedTest, FindsWhatWasAddedThroughManyGrowths) {
  Remembered<Number, int> squares(10000);
  EXPECT_EQ(squares.find(Number{0}), nullptr);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(*squares.add({i * 64}, i), i);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(*squares.find(Number{i * 64}), i);
  EXPECT_EQ(squares.find(Number{1}), nullptr);
}

TEST(RememberedTest, TheFirstValueOfAKeyStays) {
  Remembered<Number, int> numbers(10);
  const int* const first = numbers.add({1}, 10);
  EXPECT_EQ(numbers.add({1}, 20), first);
  EXPECT_EQ(*first, 10);
}

TEST(RememberedTest, KeysOfEqualHashAreToldApartAlsoByViews) {
  Remembered<Colliding, int> numbers(10);
  numbers.add({"one"}, 1);
  numbers.add({"two"}, 2);
  EXPECT_EQ(*numbers.find(CollidingView{"two"}), 2);
  EXPECT_EQ(*numbers.find(CollidingView{"one"}), 1);
  EXPECT_EQ(numbers.find(CollidingView{"three"}), nullptr);
}

TEST(RememberedTest, BeyondItsBoundNothingIsAdded) {
  Remembered<Number, int> numbers(2);
  EXPECT_NE(numbers.add({1}, 1), nullptr);
  EXPECT_NE(numbers.add({2}, 2), nullptr);
  EXPECT_EQ(numbers.add({3}, 3), nullptr);
  EXPECT_EQ(*numbers.add({2}, 4), 2);
  EXPECT_EQ(*numbers.add({4}, 4, /*counted=*/false), 4);
  EXPECT_EQ(numbers.find(Number{3}), nullptr);
}

TEST(RememberedTest, ReadersSeeWholeEntriesWhileOthersAdd) {
  Remembered<Number, std::string> texts(2000);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&texts, thread] {
      for (int i = 0; i < 1000; ++i) {
        const int key = (i * 7 + thread) % 1000;
        const std::string* known = texts.find(Number{key});
        if (known == nullptr) known = texts.add({key}, std::to_string(key));
        ASSERT_EQ(*known, std::to_string(key));
      }
    });
  }
}

// 64 keys follow one another from each slot on, so that the next key's slot is being filled while a
// reader seeks a later one.
struct Crowded {
  int value;
  std::size_t hash() const { return static_cast<std::size_t>(value) / 64; }
  friend bool operator==(const Crowded&, const Crowded&) = default;
};

TEST(RememberedTest, AReaderNeverGetsTheEntryOfAnotherKeyThatIsBeingAdded) {
  int wrong = 0;
  for (int round = 0; round < 3; ++round) {
    Remembered<Crowded, int> numbers(1 << 20);
    std::atomic<int> added = 0;
    constexpr int kKeys = 4000;
    std::jthread adder([&] {
      for (int i = 0; i < kKeys; ++i) {
        numbers.add({i}, i);
        added.store(i, std::memory_order_relaxed);
      }
    });
    for (int last = 0; last < kKeys - 1; last = added.load(std::memory_order_relaxed)) {
      for (int ahead = 2; ahead < 5; ++ahead) {
        const int* const found = numbers.find(Crowded{last + ahead});
        if (found != nullptr && *found != last + ahead) ++wrong;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gemm_tune
