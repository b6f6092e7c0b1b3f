// SPDX-License-Identifier: Apache-2.0
#include "core/signature.h"

namespace gemm_tune {

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

}  // namespace gemm_tune
