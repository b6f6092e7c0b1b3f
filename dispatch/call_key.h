// SPDX-License-Identifier: Apache-2.0
// Keys by which the library remembers what it has found out about calls.
//
// Values; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/problem/gemm_call.h"
#include "core/types/signature.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

static_assert(kEpilogueFunctors <= 24);

// A call's problem and form on a device of this number, in words that are equal iff these are, and
// iff alpha is 0 and leading dimensions exceed 32 bits in both calls or in neither: all that which
// kernel or library serves depends on.
struct CallKey {
  std::array<std::uint64_t, 6> words;

  // Precondition: the call's problem has the alignment of its matrices (problem_of()).
  CallKey(const GemmCall& call, int device)
      : CallKey(call.problem.M, call.problem.N, call.problem.K, call.problem.batch,
                {call.problem.alignment, call.problem.layout, call.problem.batch_kind,
                 c_operand(call), call.alpha == 0,
                 std::max({call.lda, call.ldb, call.ldc}) > std::numeric_limits<int>::max(),
                 call.problem.signature, call.problem.epilogue.bits(), device}) {}

  // Sums of products, which a processor takes side by side; their upper halves are well mixed.
  std::size_t hash() const {
    constexpr std::array<std::uint64_t, 6> kOdd = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                                   0x94d049bb133111eb, 0xd6e8feb86659fd93,
                                                   0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words.size(); ++i) sum += words[i] * kOdd[i];
    return sum >> 32;
  }
  friend bool operator==(const CallKey& a, const CallKey& b) {
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < a.words.size(); ++i) differing |= a.words[i] ^ b.words[i];
    return differing == 0;
  }

 private:
  friend std::optional<CallKey> plain_key(const gt_gemm_call& call, int device);

  // What the last two words consist of.
  struct Parts {
    Alignment aligned;
    Layout layout;
    BatchKind batch_kind;
    COperand c;
    bool is_alpha_zero, has_wide_rows;
    Signature types;
    std::uint32_t epilogue;
    int device;
  };

  CallKey(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t batch, const Parts& parts)
      : words{word(M), word(N), word(K), word(batch), shape_bits(parts), type_bits(parts)} {}

  template <class T>
  static std::uint64_t word(T value) {
    return static_cast<std::uint64_t>(value);
  }
  static std::uint64_t shape_bits(const Parts& p) {
    return word(p.aligned.a) | word(p.aligned.b) << 8 | word(p.aligned.c) << 16 |
           word(p.aligned.d) << 24 | word(p.layout) << 32 | word(p.batch_kind) << 36 |
           word(p.c) << 40 | word(p.is_alpha_zero) << 41 | word(p.has_wide_rows) << 42;
  }
  static std::uint64_t type_bits(const Parts& p) {
    const Signature& s = p.types;
    return word(s.a) | word(s.b) << 4 | word(s.c) << 8 | word(s.d) << 12 | word(s.accuracy) << 16 |
           word(p.epilogue) << 24 | word(p.device) << 48;
  }
};

// What plain_key() reads of types: as many as are a power of two, some of which no call has.
struct PlainType {
  std::uint8_t bytes;
  Accuracy accuracy;
};
inline constexpr std::array<PlainType, 8> kPlainTypes = [] {
  std::array<PlainType, 8> types{};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = static_cast<ElementType>(i);
    types[i] = {static_cast<std::uint8_t>(bytes_of(type)), accuracy_of(type)};
  }
  return types;
}();
static_assert(kMatrixTypes <= kPlainTypes.size() && std::size(kTypeTable) >= kPlainTypes.size());

// The key of a call of the C interface that nobody has checked: of row_major_call() (c_values.h),
// if that finds the call valid. If it does not, either nothing or a key that no valid call has.
// Nothing also for an epilogue, for a batch whose matrices of D do not lie one behind the other,
// for pointers and for values that the interface does not have. device: another number for each
// order of storage, since recipes of column-major calls have A and B exchanged. Few instructions:
// every gt_lookup computes one.
[[gnu::always_inline]] inline std::optional<CallKey> plain_key(const gt_gemm_call& call,
                                                               int device) {
  const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t types =
      bits(call.type_a) | bits(call.type_b) | bits(call.type_c) | bits(call.type_d);
  const bool is_plain = (bits(call.order) | bits(call.trans_a) | bits(call.trans_b)) <= 1 &&
                        types < kPlainTypes.size() && bits(call.accuracy) <= 15 &&
                        call.batch >= 1 && (bits(call.epilogue) | bits(call.batch_kind)) == 0;
  if (!is_plain) return std::nullopt;

  // In row-major terms.
  const bool is_swapped = call.order == GT_COLUMN_MAJOR;
  const std::int64_t M = is_swapped ? call.N : call.M, N = is_swapped ? call.M : call.N;
  const gt_type type_a = is_swapped ? call.type_b : call.type_a;
  const gt_type type_b = is_swapped ? call.type_a : call.type_b;
  const bool transposed_a = (is_swapped ? call.trans_b : call.trans_a) == GT_TRANSPOSE;
  const bool transposed_b = (is_swapped ? call.trans_a : call.trans_b) == GT_TRANSPOSE;
  const std::int64_t lda = is_swapped ? call.ldb : call.lda;
  const std::int64_t ldb = is_swapped ? call.lda : call.ldb;
  const void* const at_a = is_swapped ? call.B : call.A;
  const void* const at_b = is_swapped ? call.A : call.B;

  const auto packed = [](std::int64_t length) { return std::max<std::int64_t>(length, 1); };
  const std::int64_t length_a = packed(transposed_a ? M : call.K);
  const std::int64_t length_b = packed(transposed_b ? call.K : N), length_c = packed(N);
  const std::int64_t row_a = lda == 0 ? length_a : lda, row_b = ldb == 0 ? length_b : ldb;
  const std::int64_t row_c = call.ldc == 0 ? length_c : call.ldc;
  const auto bytes = [&](gt_type type) { return bits(kPlainTypes[bits(type)].bytes); };

  // Elements that the alignment counts.
  std::uint64_t elements_a = bits(row_a), elements_b = bits(row_b), elements_c = bits(row_c);
  const bool is_wide = std::max({row_a, row_b, row_c}) > std::numeric_limits<int>::max();
  if (call.batch > 1) {
    const std::int64_t own_a = is_swapped ? call.stride_b : call.stride_a;
    const std::int64_t own_b = is_swapped ? call.stride_a : call.stride_b;
    const auto stride = [&](std::int64_t own, std::int64_t ld, std::int64_t lines,
                            std::int64_t row) {
      return own == 0 && ld == 0 ? bits(lines) * bits(row) : bits(own);
    };
    elements_a |= stride(own_a, lda, transposed_a ? call.K : M, row_a);
    elements_b |= stride(own_b, ldb, transposed_b ? N : call.K, row_b);
    const std::uint64_t stride_c = stride(call.stride_c, call.ldc, M, row_c);
    elements_c |= stride_c;
    // One behind the other: no matrices of D overlap.
    const bool is_seen_valid =
        (own_a | own_b | call.stride_c) >= 0 && !is_wide && stride_c >= bits(M) * bits(row_c);
    if (!is_seen_valid) return std::nullopt;
  }
  const auto aligned = [&](std::uint64_t elements, std::uint64_t element_bytes, const void* at) {
    return alignment_of(elements * element_bytes | reinterpret_cast<std::uintptr_t>(at));
  };
  // Of a C that the call does not read, too.
  const std::uint64_t bytes_c = bytes(call.type_c);
  const int aligned_c = aligned(elements_c, bytes_c, call.C);
  const int aligned_d = aligned(elements_c, bytes(call.type_d), call.D);
  const bool is_valid =
      row_a >= length_a && row_b >= length_b && row_c >= length_c && bits(aligned_c) >= bytes_c;
  if (!is_valid) return std::nullopt;

  const bool reads_c = call.beta != 0 && call.C != call.D;
  const auto type = [](gt_type value) { return static_cast<ElementType>(value); };
  const Accuracy accuracy = call.accuracy == GT_ACCURACY_OF_TYPES
                                ? std::min(kPlainTypes[bits(call.type_a)].accuracy,
                                           kPlainTypes[bits(call.type_b)].accuracy)
                                : static_cast<Accuracy>(call.accuracy);
  return CallKey(
      M, N, call.K, call.batch,
      {.aligned = {aligned(elements_a, bytes(type_a), at_a),
                   aligned(elements_b, bytes(type_b), at_b), reads_c ? aligned_c : aligned_d,
                   aligned_d},
       .layout = layout_of(transposed_a, transposed_b),
       .batch_kind = BatchKind::strided,
       .c = reads_c ? COperand::separate : COperand::in_place,
       .is_alpha_zero = call.alpha == 0,
       .has_wide_rows = is_wide,
       .types = {type(type_a), type(type_b), type(call.type_c), type(call.type_d), accuracy},
       .epilogue = 0,
       .device = device});
}

// A device as a caller names it; with an empty name, any of the architecture. Few are asked for,
// and so names are compared and not hashed.
struct DeviceName {
  const char* arch;
  const char* name;
  int sm_count;

  std::size_t hash() const { return static_cast<std::size_t>(sm_count); }
};

// The same with texts of its own.
struct OwnedDeviceName {
  std::string arch, name;
  int sm_count;

  std::size_t hash() const { return DeviceName{nullptr, nullptr, sm_count}.hash(); }
  friend bool operator==(const OwnedDeviceName&, const OwnedDeviceName&) = default;
  friend bool operator==(const OwnedDeviceName& known, const DeviceName& sought) {
    return known.sm_count == sought.sm_count && is_same(known.arch.c_str(), sought.arch) &&
           std::strcmp(known.name.c_str(), sought.name) == 0;
  }

 private:
  // Of texts as short as an architecture's faster than a call of strcmp().
  static bool is_same(const char* a, const char* b) {
    while (*a == *b) {
      if (*a == '\0') return true;
      ++a, ++b;
    }
    return false;
  }
};

}  // namespace gemm_tune
