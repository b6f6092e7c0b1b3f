// SPDX-License-Identifier: Apache-2.0
#include "core/problem/epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;

TEST(EpilogueTest, ATextIsReadBackInTheOrderOfApplication) {
  EXPECT_EQ(to_string(Epilogue()), "none");
  EXPECT_EQ(parse_epilogue("none"), Epilogue());
  EXPECT_EQ(to_string(parse_epilogue("bias_column")), "bias_column");
  EXPECT_EQ(to_string(parse_epilogue("relu+bias_row")), "bias_row+relu");
  for (const char* text : {"", "relu+", "+relu", "none+relu", "bias", "bias_row+bias_column"}) {
    EXPECT_THROW(parse_epilogue(text), UsageError) << text;
  }
}

TEST(EpilogueTest, TheBadPartOfATextIsNamed) {
  const auto refusal_of = [](const char* text) -> std::string {
    try {
      parse_epilogue(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal_of("bias_row+wobble"), HasSubstr("'wobble' is no functor"));
  EXPECT_THAT(refusal_of("relu+bias_row+silu"), HasSubstr("relu and silu are for one end"));
  EXPECT_THAT(refusal_of("scale+relu+scale"), HasSubstr("scale stands there twice"))
      << "the second factor would be left out";
}

TEST(EpilogueTest, EveryFunctorHasANameOfItsOwnAndIsAppliedInTheOrderOfStages) {
  std::set<std::string_view> names;
  for (int row = 0; row < kEpilogueFunctors; ++row) {
    const EpilogueFunctor& functor = kEpilogueTable[row];
    EXPECT_TRUE(names.insert(functor.name).second) << functor.name;
    EXPECT_EQ(parse_epilogue(functor.name), Epilogue::of_bits(1U << row));
    const EpilogueFunctor& before = kEpilogueTable[row > 0 ? row - 1 : 0];
    EXPECT_LE(before.stage, functor.stage) << functor.name;
  }
}

TEST(EpilogueTest, TheTransposeOfATransposeIsTheEpilogueWithItsOperands) {
  constexpr Epilogue kBias = *find_epilogue("bias_row+relu");
  EXPECT_EQ(to_string(kBias.transposed()), "bias_column+relu");
  for (std::uint32_t bits = 0; bits < 1U << kEpilogueFunctors; ++bits) {
    const auto epilogue = Epilogue::of_bits(bits);
    if (!epilogue) continue;
    EXPECT_EQ(epilogue->transposed().transposed(), *epilogue);
    EpilogueOperands operands{};
    const char memory[kMostOperands] = {};
    for (int i = 0; i < epilogue->operand_count(); ++i) {
      operands[static_cast<std::size_t>(i)] = memory + i;
    }
    EXPECT_EQ(transposed(epilogue->transposed(), transposed(*epilogue, operands)), operands);
  }
}

TEST(EpilogueTest, ItsOperandsAreCountedInTheOrderOfApplication) {
  const Epilogue epilogue = parse_epilogue("residual+bias_column+relu+scale");
  EXPECT_EQ(epilogue.operand_count(), 3);
  std::string seen;
  epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    seen += std::string(functor.name) + "=" + std::to_string(slot) + " ";
  });
  EXPECT_EQ(seen, "scale=0 bias_column=1 relu=-1 residual=2 ");
}

TEST(EpilogueTest, NoCompositionHasMoreFunctorsOrOperandsThanThereIsRoomFor) {
  for (std::uint32_t bits = 0; bits < 1U << kEpilogueFunctors; ++bits) {
    const auto epilogue = Epilogue::of_bits(bits);
    if (!epilogue) continue;
    int functors = 0;
    epilogue->for_each([&](const EpilogueFunctor&, int) { ++functors; });
    EXPECT_LE(functors, kMostFunctors);
    EXPECT_LE(epilogue->operand_count(), kMostOperands);
  }
}

}  // namespace
}  // namespace gemm_tune
