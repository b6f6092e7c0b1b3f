// SPDX-License-Identifier: Apache-2.0
// The table of epilogues: what becomes of alpha * op(A) * op(B) + beta * C, in fp32, before it is
// rounded to D's type and stored.
//
// An epilogue is a set of functors, which are applied in the table's order. A functor is a row here
// and a file of its name, kernel_templates/device/epilogue/<name>.cuh; nothing else lists functors.
// Values; any thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace gemm_tune {

// What a functor reads or writes beside the value. row and column: an element for each row or each
// column, the same for every entry of a batch. matrix and output: as large as D, and with D's
// leading dimension and batch stride. The numbers are those of
// kernel_templates/device/call/epilogue_operands.cuh.
enum class OperandShape {
  none,
  scalar_f32,
  row_f32,
  column_f32,
  row_d,
  column_d,
  matrix_d,
  output_d
};

// What a functor is for: an epilogue has at most one for each. In the order in which they are
// applied.
enum class Stage { scale, scale_rows, scale_columns, bias, auxiliary, activation, residual };

struct EpilogueFunctor {
  const char* name;
  OperandShape operand;
  Stage stage;
  bool keeps_whole_numbers;  // of whole numbers and powers of two it makes whole numbers
  int transposed;            // what it is for the transpose of D: so many rows further
  const char* meaning;
};

constexpr bool is_f32(const EpilogueFunctor& functor) {
  return functor.operand == OperandShape::scalar_f32 || functor.operand == OperandShape::row_f32 ||
         functor.operand == OperandShape::column_f32;
}
constexpr bool lies_as_d(const EpilogueFunctor& functor) {
  return functor.operand == OperandShape::matrix_d || functor.operand == OperandShape::output_d;
}

// In the order in which they are applied.
inline constexpr EpilogueFunctor kEpilogueTable[] = {
    {"scale", OperandShape::scalar_f32, Stage::scale, true, 0, "times a factor"},
    {"scale_row", OperandShape::row_f32, Stage::scale_rows, true, 1, "times a factor for each row"},
    {"scale_column", OperandShape::column_f32, Stage::scale_columns, true, -1,
     "times a factor for each column"},
    {"bias_row", OperandShape::row_d, Stage::bias, true, 1, "plus a bias for each row"},
    {"bias_column", OperandShape::column_d, Stage::bias, true, -1, "plus a bias for each column"},
    {"aux", OperandShape::output_d, Stage::auxiliary, true, 0,
     "also stored as it is at this point"},
    {"relu", OperandShape::none, Stage::activation, true, 0,
     "negative values become 0; a NaN stays"},
    {"gelu_tanh", OperandShape::none, Stage::activation, false, 0,
     "GELU by its approximation with tanh"},
    {"gelu_erf", OperandShape::none, Stage::activation, false, 0, "GELU"},
    {"silu", OperandShape::none, Stage::activation, false, 0, "SiLU, x / (1 + exp(-x))"},
    {"residual", OperandShape::matrix_d, Stage::residual, true, 0, "plus an element of a matrix"},
};
inline constexpr int kEpilogueFunctors = static_cast<int>(std::size(kEpilogueTable));

// Functors of one epilogue, and those of them that have an operand.
inline constexpr int kMostFunctors = 7, kMostOperands = 6;

using EpilogueOperands = std::array<const void*, kMostOperands>;

class Epilogue {
 public:
  constexpr Epilogue() = default;

  // Of bits(); nothing for bits of no functor, or of two for one stage.
  static constexpr std::optional<Epilogue> of_bits(std::uint32_t bits) {
    std::uint32_t stages = 0;
    for (int i = 0; i < kEpilogueFunctors; ++i) {
      const std::uint32_t stage = 1U << static_cast<int>(kEpilogueTable[i].stage);
      if ((bits >> i & 1) == 0) continue;
      if ((stages & stage) != 0) return std::nullopt;
      stages |= stage;
    }
    if (bits >> kEpilogueFunctors != 0) return std::nullopt;
    return Epilogue(bits);
  }

  constexpr std::uint32_t bits() const { return bits_; }
  constexpr bool is_none() const { return bits_ == 0; }
  constexpr bool has(int row) const { return (bits_ >> row & 1) != 0; }

  // Calls visit(functor, slot) for each functor, in the order in which they are applied. slot: of
  // its operand among the epilogue's operands, which come in the same order; -1 without one.
  template <class Visit>
  constexpr void for_each(Visit visit) const {
    int slot = 0;
    for (int i = 0; i < kEpilogueFunctors; ++i) {
      if (!has(i)) continue;
      const bool has_operand = kEpilogueTable[i].operand != OperandShape::none;
      visit(kEpilogueTable[i], has_operand ? slot : -1);
      if (has_operand) ++slot;
    }
  }

  constexpr int operand_count() const {
    int count = 0;
    for_each([&](const EpilogueFunctor&, int slot) { count += slot >= 0 ? 1 : 0; });
    return count;
  }

  // Whether results are whole numbers where sums, C and operands are.
  constexpr bool keeps_whole_numbers() const {
    bool keeps = true;
    for_each([&](const EpilogueFunctor& one, int) { keeps = keeps && one.keeps_whole_numbers; });
    return keeps;
  }

  // The same of the transpose of D: rows for columns.
  constexpr Epilogue transposed() const {
    std::uint32_t bits = 0;
    for (int i = 0; i < kEpilogueFunctors; ++i) {
      if (has(i)) bits |= 1U << (i + kEpilogueTable[i].transposed);
    }
    return Epilogue(bits);
  }

  friend constexpr auto operator<=>(const Epilogue&, const Epilogue&) = default;

 private:
  constexpr explicit Epilogue(std::uint32_t bits) : bits_(bits) {}

  std::uint32_t bits_ = 0;
};

// Of functors' names with a plus between them, in any order, or "none"; nothing for other texts,
// and for two functors for one stage.
constexpr std::optional<Epilogue> find_epilogue(std::string_view text) {
  if (text == "none") return Epilogue();
  std::uint32_t bits = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t plus = text.find('+', begin);
    const std::string_view name = text.substr(begin, plus - begin);
    int row = 0;
    while (row < kEpilogueFunctors && kEpilogueTable[row].name != name) ++row;
    if (row == kEpilogueFunctors) return std::nullopt;
    bits |= 1U << row;
    if (plus == text.npos) break;
    begin = plus + 1;
  }
  return Epilogue::of_bits(bits);
}

// The operands of epilogue.transposed(), from those of the epilogue.
EpilogueOperands transposed(const Epilogue& epilogue, const EpilogueOperands& operands);

// "none", or functors in the order in which they are applied: "bias_column+relu".
std::string to_string(const Epilogue& epilogue);

// A line for each functor of the table: "bias_row: plus a bias for each row (M elements of D's
// type)\n".
std::string epilogue_list();

// find_epilogue(). Throws UsageError naming the text.
Epilogue parse_epilogue(std::string_view text);

}  // namespace gemm_tune
