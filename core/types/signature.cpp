// SPDX-License-Identifier: Apache-2.0
#include "core/types/signature.h"

#include <array>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/split.h"

namespace gemm_tune {
namespace {

UsageError not_a_type(std::string_view text) {
  return UsageError("'" + excerpt(text) + "' is not a type: use one of " + type_names() +
                    " for all matrices, or name those of A, B, C and D, as in f16/f16/f32/f32; an "
                    "accuracy class follows, as in f32+tf32: one of " +
                    accuracy_names());
}

std::optional<ElementType> type_named(std::string_view text) {
  return find_type([&](const TypeInfo& type) { return type.name == text; });
}

// One type for all matrices, or four.
std::optional<std::array<ElementType, 4>> types_named(std::string_view text) {
  std::array<ElementType, 4> types{};
  const std::vector<std::string_view> names = split(text, '/');
  if (names.size() != 1 && names.size() != types.size()) return std::nullopt;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = type_named(names[names.size() == 1 ? 0 : i]);
    if (!type) return std::nullopt;
    types[i] = *type;
  }
  return types;
}

}  // namespace

std::string type_names(const char* TypeInfo::*name) {
  std::string names;
  for (int i = 0; i < kMatrixTypes; ++i) {
    names += (i > 0 ? ", " : "") + std::string(kTypeTable[i].*name);
  }
  return names;
}

double half_of_least(ElementType type) {
  const TypeInfo& info = info_of(type);
  if (!is_floating(type)) return 0.5;
  const int least_normal = 2 - (1 << (info.exponent_bits - 1));  // its exponent
  return std::ldexp(1.0, least_normal - info.significand_bits);
}

std::string to_string(const Signature& signature) {
  std::string text(to_string(signature.a));
  const bool is_one_type =
      signature.b == signature.a && signature.c == signature.a && signature.d == signature.a;
  if (!is_one_type) {
    for (const ElementType type : {signature.b, signature.c, signature.d}) {
      text += "/" + std::string(to_string(type));
    }
  }
  if (signature.accuracy != accuracy_of(signature.a, signature.b)) {
    text += "+" + std::string(to_string(signature.accuracy));
  }
  return text;
}

Signature parse_signature(std::string_view text) {
  const std::size_t plus = text.find('+');
  const auto types = types_named(text.substr(0, plus));
  if (!types) throw not_a_type(text);
  const auto [a, b, c, d] = *types;
  Signature signature{a, b, c, d, accuracy_of(a, b)};
  if (plus == text.npos) return signature;
  const auto accuracy = accuracy_named(text.substr(plus + 1));
  if (!accuracy) throw not_a_type(text);
  if (!has_class(a, b, *accuracy)) {
    throw UsageError("'" + excerpt(text) + "' is not a type: the class " +
                     std::string(to_string(*accuracy)) + " (" + info_of(*accuracy).meaning +
                     ") is not one of " + std::string(to_string(a)) +
                     (a == b ? "" : " and " + std::string(to_string(b))) + " operands");
  }
  signature.accuracy = *accuracy;
  return signature;
}

}  // namespace gemm_tune
