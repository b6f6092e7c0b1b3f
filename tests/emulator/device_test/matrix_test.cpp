// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/matrix.h"

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <cstdint>

namespace gemm_tune::emulator {
namespace {

constexpr unsigned kPadding = 0xdeadbeef;

TEST(ExactMatrix, PoisonsPaddingAndSurroundings) {
  ExactMatrix m({nullptr, 2, 6, 10}, 4, kPadding);
  EXPECT_FALSE(__asan_address_is_poisoned(m.view().address(0, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().address(0, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().address(0, 9)));
  EXPECT_FALSE(__asan_address_is_poisoned(m.view().address(1, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().address(1, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().data - 1));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().address(100, 0)));
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
  m.view().set(0, 1, 0);  // shares 8 bytes with the next row's first element or its own row's
  EXPECT_EQ(m.find_overwritten_padding(), "padding 1 elements after the first");
}

TEST(ExactMatrix, FindsNothingWhereOnlyElementsWereWritten) {
  ExactMatrix m({nullptr, 2, 3, 5}, 1, kPadding);
  for (int i = 0; i < 6; ++i) m.view().set(i / 3, i % 3, 0);
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, PoisonsWhatLiesBetweenTheMatricesOfABatch) {
  ExactMatrix m({nullptr, 2, 6, 8, 3, 20}, 4, kPadding);
  EXPECT_FALSE(__asan_address_is_poisoned(m.view().entry(1).address(1, 5)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().entry(1).address(1, 6)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().entry(2).address(0, 0) - 1));
  EXPECT_FALSE(__asan_address_is_poisoned(m.view().entry(2).address(0, 0)));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().entry(2).address(1, 6)));
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, MayDealTheColumnsOfItsRowsOutToABatch) {
  ExactMatrix m({nullptr, 2, 3, 9, 3, 3}, 1, kPadding);
  for (int i = 0; i < 6; ++i) m.view().entry(2).set(i / 3, i % 3, 0);
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, HasNoElementsWhereKIsZero) {
  ExactMatrix m({nullptr, 3, 0, 4}, 4, kPadding);
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().data));
  EXPECT_TRUE(__asan_address_is_poisoned(m.view().address(2, 0)));
}

TEST(ExactMatrix, HoldsSixteenBitElementsRounded) {
  ExactMatrix m({nullptr, 2, 3, 9, 2, 30, ElementType::bf16}, 8, kPadding);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.view().data) % 16, 0u);
  const MatrixView second = m.view().entry(1);
  EXPECT_EQ(second.address(1, 2) - m.view().data, 2 * (30 + 9 + 2));
  EXPECT_FALSE(__asan_address_is_poisoned(second.address(1, 2) + 1));
  EXPECT_TRUE(__asan_address_is_poisoned(second.address(1, 2) + 2));
  second.set(1, 2, 257);
  EXPECT_EQ(second.get(1, 2), 256);
  EXPECT_EQ(m.find_overwritten_padding(), std::nullopt);
}

TEST(ExactMatrix, IsAlignedToSixteenBitElementsAndNoMore) {
  for (const int alignment : {1, 2, 4, 8}) {
    ExactMatrix m({nullptr, 1, 1, 8, 1, 0, ElementType::f16}, alignment, kPadding);
    const auto address = reinterpret_cast<std::uintptr_t>(m.view().data);
    EXPECT_EQ(address % 32, static_cast<std::uintptr_t>(2 * alignment));
  }
}

// Elements 0, 1, 3 and 4 are the matrices', which AddressSanitizer cannot tell from their
// neighbours.
TEST(ExactMatrix, FindsOverwrittenSixteenBitPadding) {
  for (const int element : {-4, -1, 2, 5, 8}) {
    ExactMatrix m({nullptr, 1, 2, 3, 2, 3, ElementType::f16}, 4, kPadding);
    char* const address = m.view().address(0, element);
    ASAN_UNPOISON_MEMORY_REGION(address, 2);
    *address = 1;
    EXPECT_NE(m.find_overwritten_padding(), std::nullopt) << element;
  }
}

TEST(SparseMatrix, HoldsRowsMoreThanTwoToThe31ElementsApart) {
  SparseMatrix m({nullptr, 3, 2, (1LL << 31) + 8});
  m.view().set(0, 1, 1);
  m.view().set(2, 1, 2);
  EXPECT_EQ(m.view().get(0, 1), 1);
  EXPECT_EQ(reinterpret_cast<float*>(m.view().data)[2 * ((1LL << 31) + 8) + 1], 2);
}

TEST(SparseMatrix, HoldsMatricesMoreThanTwoToThe31ElementsApart) {
  SparseMatrix m({nullptr, 1, 2, 2, 3, (1LL << 31) + 8});
  m.view().entry(2).set(0, 1, 1);
  EXPECT_EQ(reinterpret_cast<float*>(m.view().data)[2 * ((1LL << 31) + 8) + 1], 1);
}

}  // namespace
}  // namespace gemm_tune::emulator
