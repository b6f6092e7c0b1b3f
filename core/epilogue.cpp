// SPDX-License-Identifier: Apache-2.0
#include "core/epilogue.h"

#include "core/error.h"
#include "core/printable.h"

namespace gemm_tune {
EpilogueOperands transposed(const Epilogue& epilogue, const EpilogueOperands& operands) {
  std::array<const void*, kEpilogueFunctors> by_row{};
  for (int i = 0, slot = 0; i < kEpilogueFunctors; ++i) {
    if (!epilogue.has(i) || kEpilogueTable[i].operand == OperandShape::none) continue;
    const int by_rows = i + kEpilogueTable[i].transposed;
    by_row[static_cast<std::size_t>(by_rows)] = operands[static_cast<std::size_t>(slot++)];
  }
  EpilogueOperands result{};
  epilogue.transposed().for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot < 0) return;
    result[static_cast<std::size_t>(slot)] =
        by_row[static_cast<std::size_t>(&functor - kEpilogueTable)];
  });
  return result;
}

std::string to_string(const Epilogue& epilogue) {
  std::string text;
  epilogue.for_each([&](const EpilogueFunctor& functor, int) {
    text += (text.empty() ? "" : "+") + std::string(functor.name);
  });
  return text.empty() ? "none" : text;
}

std::string epilogue_list() {
  // In the order of OperandShape.
  constexpr const char* kOperands[] = {"no operand",
                                       "1 fp32 number",
                                       "M fp32 numbers",
                                       "N fp32 numbers",
                                       "M elements of D's type",
                                       "N elements of D's type",
                                       "a matrix that lies as D does",
                                       "a matrix that lies as D does and is written"};
  std::string list;
  for (const EpilogueFunctor& functor : kEpilogueTable) {
    list += std::string(functor.name) + ": " + functor.meaning + " (" +
            kOperands[static_cast<std::size_t>(functor.operand)] + ")\n";
  }
  return list;
}

Epilogue parse_epilogue(std::string_view text) {
  if (const auto epilogue = find_epilogue(text)) return *epilogue;
  std::string names;
  for (const EpilogueFunctor& functor : kEpilogueTable) names += std::string(", ") + functor.name;
  throw UsageError("'" + excerpt(text) + "' is not an epilogue: use none" + names +
                   ", or several of these for different ends, as in bias_column+relu");
}

}  // namespace gemm_tune
