// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/report/shape_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "core/text/hash_words.h"
#include "core/types/signature.h"
#include "dispatch/preload/report/counts.h"
#include "gpu/cuda_libraries/cublas_types.h"

namespace gemm_tune::preload {
namespace {

constexpr std::size_t kMostProbes = 64;  // reached only where the table is nearly full

std::size_t hash_of(const ShapeKey& key) {
  static_assert(std::has_unique_object_representations_v<ShapeKey>);
  std::array<std::uint64_t, sizeof(ShapeKey) / sizeof(std::uint64_t)> words;
  static_assert(sizeof words == sizeof key);
  std::memcpy(words.data(), &key, sizeof key);
  return hash_words(words);
}

// 1 for a type that the table of types does not have.
int element_bytes(int data_type) {
  const std::optional<ElementType> type = cublas_abi::element_type(data_type);
  return type ? bytes_of(*type) : 1;
}

// The least alignment of an operand's address, leading dimension and, in a batch, stride; of its
// leading dimension where its addresses are an array on the device.
int alignment_of_operand(const CublasCall& call, const void* at, std::int64_t ld,
                         std::int64_t stride, int data_type) {
  const auto bytes = static_cast<std::uint64_t>(element_bytes(data_type));
  const std::uint64_t row = static_cast<std::uint64_t>(ld) * bytes;
  if (call.batch_kind != BatchKind::strided) return alignment_of(row);
  const std::uint64_t between = static_cast<std::uint64_t>(call.batch > 1 ? stride : 0) * bytes;
  return alignment_of(reinterpret_cast<std::uintptr_t>(at) | row | between);
}

}  // namespace

ShapeKey key_of(const CublasCall& c, int device, bool reads_c) {
  const bool separate_c = c.input_c != nullptr && reads_c;
  ShapeKey key{c.m, c.n, c.k, c.batch, c.lda, c.ldb, c.ldc};
  key.function = static_cast<std::int16_t>(c.function);
  key.batch_kind = static_cast<std::int16_t>(c.batch_kind);
  key.op_a = c.op_a;
  key.op_b = c.op_b;
  key.type_a = c.type_a;
  key.type_b = c.type_b;
  key.type_c = c.type_c;
  key.compute_type = c.compute_type;
  key.algorithm = c.algorithm;
  key.epilogue = c.epilogue;
  key.separate_c = separate_c ? 1 : 0;
  key.device = static_cast<std::int16_t>(device);
  key.alignment_a = alignment_of_operand(c, c.A, c.lda, c.stride_a, c.type_a);
  key.alignment_b = alignment_of_operand(c, c.B, c.ldb, c.stride_b, c.type_b);
  key.alignment_c = alignment_of_operand(c, c.C, c.ldc, c.stride_c, c.type_c);
  if (separate_c) {
    key.alignment_c =
        std::min(key.alignment_c, alignment_of_operand(c, c.input_c, c.ldc, c.stride_c, c.type_c));
  }
  return key;
}

Shape* ShapeTable::find(const ShapeKey& key) {
  const std::size_t start = hash_of(key);
  Shape* made = nullptr;  // its place stays unused where another thread was faster
  for (std::size_t probe = 0; probe < kMostProbes; ++probe) {
    std::atomic<Shape*>& slot = slots_[(start + probe) % kSlots];
    Shape* there = slot.load(std::memory_order_acquire);
    if (there == nullptr) {
      if (made == nullptr) made = counts_.make(key);
      if (made == nullptr) return nullptr;
      if (slot.compare_exchange_strong(there, made, std::memory_order_acq_rel)) {
        counts_.publish(made);
        return made;
      }
    }
    if (there->key == key) return there;
  }
  return nullptr;
}

void ShapeTable::for_each(const std::function<void(Shape&)>& visit) const {
  for (const std::atomic<Shape*>& slot : slots_) {
    if (Shape* const shape = slot.load(std::memory_order_acquire)) visit(*shape);
  }
}

}  // namespace gemm_tune::preload
