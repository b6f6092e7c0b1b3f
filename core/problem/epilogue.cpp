// SPDX-License-Identifier: Apache-2.0
#include "core/problem/epilogue.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/split.h"

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

namespace {

// " scale, scale_row, ..., residual, as in bias_column+relu".
std::string names() {
  std::string text;
  for (const EpilogueFunctor& functor : kEpilogueTable)
    text += " " + std::string(functor.name) + ",";
  return text + " as in bias_column+relu";
}

}  // namespace

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
  if (text == "none") return Epilogue();
  const auto refused = [&](const std::string& why) {
    return UsageError("'" + excerpt(text) + "' is not an epilogue: " + why);
  };
  std::vector<const EpilogueFunctor*> functors;
  for (const std::string_view name : split(text, '+')) {
    const auto functor = std::find_if(std::begin(kEpilogueTable), std::end(kEpilogueTable),
                                      [&](const auto& row) { return row.name == name; });
    if (functor == std::end(kEpilogueTable)) {
      throw refused("'" + excerpt(name) + "' is no functor: use none, or one or more of" + names());
    }
    for (const EpilogueFunctor* other : functors) {
      if (other->stage != functor->stage) continue;
      throw refused(other == functor ? std::string(name) + " stands there twice"
                                     : std::string(other->name) + " and " + std::string(name) +
                                           " are for one end: leave one out");
    }
    functors.push_back(functor);
  }
  return find_epilogue(text).value();
}

}  // namespace gemm_tune
