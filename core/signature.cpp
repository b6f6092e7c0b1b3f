// SPDX-License-Identifier: Apache-2.0
#include "core/signature.h"

#include "core/error.h"
#include "core/printable.h"

namespace gemm_tune {
namespace {

constexpr ElementType kTypes[] = {ElementType::f32, ElementType::f16, ElementType::bf16};

}  // namespace

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "f32";
    case ElementType::f16:
      return "f16";
    case ElementType::bf16:
      return "bf16";
    case ElementType::f64:
      return "f64";
  }
  return "?";
}

std::string to_string(const Signature& signature) {
  std::string text(to_string(signature.a));
  if (signature == signature_of(signature.a)) return text;
  for (const ElementType type : {signature.b, signature.c, signature.d}) {
    text += "/" + std::string(to_string(type));
  }
  return text;
}

Signature parse_signature(std::string_view text) {
  for (const ElementType ab : kTypes) {
    for (const ElementType cd : kTypes) {
      const Signature signature = signature_of(ab, cd);
      if (is_offered(signature) && to_string(signature) == text) return signature;
    }
  }
  throw UsageError("'" + excerpt(text) +
                   "' is not a type: use f32, f16 or bf16 for all matrices, or name those of A, B, "
                   "C and D, as in f16/f16/f32/f32 and bf16/bf16/f32/f32");
}

}  // namespace gemm_tune
