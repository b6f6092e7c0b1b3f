// SPDX-License-Identifier: Apache-2.0
// The part of a config that follows from the problem, and the role of each parameter in it.
//
// A config is a family, its tunables and a specialisation. The search chooses the tunables; the
// specialisation says which problems the kernel serves. The same tunables under another
// specialisation serve other problems. Values; any thread.
#pragma once

#include <optional>

#include "core/problem/problem.h"

namespace gemm_tune {

struct Specialisation {
  Layout layout = Layout::nn;  // the only one that the kernel serves
  int vec = 1;                 // elements per global access; the alignment class that they need
  bool predicated = false;     // checks edges, so that matrices need not be whole tiles
  Signature signature = {};    // the only one that the kernel serves
  bool repack = false;         // a launch before copies A and B to aligned rows
  // Where the accesses of A, of B, and of C and D differ in width: their elements, as the digits of
  // a number, the least of which is vec. Else 0.
  int vecs = 0;
  BatchKind batch_kind = BatchKind::strided;  // the only one that the kernel serves

  friend bool operator==(const Specialisation&, const Specialisation&) = default;
};

// What a parameter's value decides. Each family declares it for each of its parameters.
// type_ab to type_cd: the number of an ElementType, type_ab of families whose A and B have one
// type; accuracy: that of an Accuracy; batch_kind: that of a BatchKind.
enum class Role {
  tunable,
  transposed_a,
  transposed_b,
  vector_width,
  predicated,
  type_ab,
  type_a,
  type_b,
  type_cd,
  accuracy,
  repack,
  vector_widths,
  batch_kind
};

// Whether the value follows from the signature alone.
constexpr bool is_of_signature(Role role) {
  return role == Role::type_ab || role == Role::type_a || role == Role::type_b ||
         role == Role::type_cd || role == Role::accuracy;
}

// The value of a parameter of this role under the specialisation; nothing for a tunable.
constexpr std::optional<int> value_of(const Specialisation& specialisation, Role role) {
  switch (role) {
    case Role::tunable:
      return std::nullopt;
    case Role::transposed_a:
      return transposes_a(specialisation.layout);
    case Role::transposed_b:
      return transposes_b(specialisation.layout);
    case Role::vector_width:
      return specialisation.vec;
    case Role::predicated:
      return specialisation.predicated;
    case Role::type_ab:
    case Role::type_a:
      return static_cast<int>(specialisation.signature.a);
    case Role::type_b:
      return static_cast<int>(specialisation.signature.b);
    case Role::type_cd:
      return static_cast<int>(specialisation.signature.d);
    case Role::accuracy:
      return static_cast<int>(specialisation.signature.accuracy);
    case Role::repack:
      return specialisation.repack;
    case Role::vector_widths:
      return specialisation.vecs;
    case Role::batch_kind:
      return static_cast<int>(specialisation.batch_kind);
  }
  return std::nullopt;
}

}  // namespace gemm_tune
