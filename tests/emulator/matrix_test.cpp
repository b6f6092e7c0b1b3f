// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/matrix.h"

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <cstdint>

namespace gemm_tune::emulator {
namespace {

constexpr unsigned kPadding = 0xdeadbeef;

TEST(ExactMatrix, PoisonsPaddingAndSurroundings) {
  ExactMatrix m({nullptr, 2, 6, 10}, 4, kPadding);
  EXPECT_FALSE(__asan_address_is_poisoned(&m.view().at(0, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().at(0, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().at(0, 9)));
  EXPECT_FALSE(__asan_address_is_poisoned(&m.view().at(1, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().at(1, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().data - 1));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().at(100, 0)));
}

TEST(ExactMatrix, IsAlignedToItsClassAndNoMore) {
  const auto misaligned = [](int alignment, std::uintptr_t bytes) {
    ExactMatrix m({nullptr, 1, 1, 4}, alignment, kPadding);
    return reinterpret_cast<std::uintptr_t>(m.view().data) % bytes != 0;
  };
  EXPECT_FALSE(misaligned(1, 4));
  EXPECT_TRUE(misaligned(1, 8));
  EXPECT_FALSE(misaligned(2, 8));
  EXPECT_TRUE(misaligned(2, 16));
  EXPECT_FALSE(misaligned(4, 16));
  EXPECT_TRUE(misaligned(4, 32));
}

TEST(ExactMatrix, FindsOverwrittenPaddingThatCannotBePoisoned) {
  ExactMatrix m({nullptr, 2, 1, 2}, 1, kPadding);
  m.view().at(0, 1) = 0;  // shares 8 bytes with the next row's first element or its own row's
  EXPECT_EQ(m.find_overwritten_padding(), "padding 1 elements after the first");
}

TEST(ExactMatrix, FindsNothingWhereOnlyElementsWereWritten) {
  ExactMatrix m({nullptr, 2, 3, 5}, 1, kPadding);
  for (int i = 0; i < 6; ++i) m.view().at(i / 3, i % 3) = 0;
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, PoisonsWhatLiesBetweenTheMatricesOfABatch) {
  ExactMatrix m({nullptr, 2, 6, 8, 3, 20}, 4, kPadding);
  EXPECT_FALSE(__asan_address_is_poisoned(&m.view().entry(1).at(1, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().entry(1).at(1, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().entry(2).at(0, 0) - 1));
  EXPECT_FALSE(__asan_address_is_poisoned(&m.view().entry(2).at(0, 0)));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().entry(2).at(1, 6)));
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, MayDealTheColumnsOfItsRowsOutToABatch) {
  ExactMatrix m({nullptr, 2, 3, 9, 3, 3}, 1, kPadding);
  for (int i = 0; i < 6; ++i) m.view().entry(2).at(i / 3, i % 3) = 0;
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, HasNoElementsWhereKIsZero) {
  ExactMatrix m({nullptr, 3, 0, 4}, 4, kPadding);
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().data));
  EXPECT_TRUE(__asan_address_is_poisoned(&m.view().at(2, 0)));
}

TEST(SparseMatrix, HoldsRowsMoreThanTwoToThe31ElementsApart) {
  SparseMatrix m({nullptr, 3, 2, (1LL << 31) + 8});
  m.view().at(0, 1) = 1;
  m.view().at(2, 1) = 2;
  EXPECT_EQ(m.view().at(0, 1), 1);
  EXPECT_EQ(m.view().data[2 * ((1LL << 31) + 8) + 1], 2);
}

TEST(SparseMatrix, HoldsMatricesMoreThanTwoToThe31ElementsApart) {
  SparseMatrix m({nullptr, 1, 2, 2, 3, (1LL << 31) + 8});
  m.view().entry(2).at(0, 1) = 1;
  EXPECT_EQ(m.view().data[2 * ((1LL << 31) + 8) + 1], 1);
}

}  // namespace
}  // namespace gemm_tune::emulator
