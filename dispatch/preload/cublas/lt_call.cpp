// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/cublas/lt_call.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "core/text/hash_words.h"
#include "dispatch/preload/cublas/real_cublas.h"
#include "gpu/cuda_libraries/cublas_types.h"

namespace gemm_tune::preload {
namespace {

// Of cublasLt.h, version 13.
constexpr std::size_t kDescriptorBytes = 256, kLayoutBytes = 64;
constexpr int kComputeType = 0, kScaleType = 1, kPointerMode = 2, kTransposeA = 3, kTransposeB = 4,
              kEpilogue = 7, kBiasPointer = 8, kAuxPointer = 11, kAuxLd = 12, kAuxStride = 13,
              kAuxType = 22, kBiasType = 26;
constexpr int kType = 0, kOrder = 1, kRows = 2, kColumns = 3, kLd = 4, kBatchCount = 5,
              kBatchStride = 6;
constexpr int kOfDsType = -1;
constexpr int kByColumns = 0, kByRows = 1;  // orders of a layout

using Get = int(const void*, int attribute, void* value, std::size_t bytes, std::size_t* written);
using Set = int(void*, int attribute, const void* value, std::size_t bytes);

// cublasLt's own functions for the descriptors.
struct Functions {
  template <class Function>
  static Function* find(const char* name) {
    return reinterpret_cast<Function*>(find_real(name));
  }

  std::size_t (*version)() = find<std::size_t()>("cublasLtGetVersion");
  int (*init_descriptor)(void*, std::size_t, int compute_type, int scale_type) =
      find<int(void*, std::size_t, int, int)>("cublasLtMatmulDescInit_internal");
  Get* get_of_descriptor = find<Get>("cublasLtMatmulDescGetAttribute");
  Set* set_of_descriptor = find<Set>("cublasLtMatmulDescSetAttribute");
  int (*init_layout)(void*, std::size_t, int type, std::uint64_t rows, std::uint64_t columns,
                     std::int64_t ld) =
      find<int(void*, std::size_t, int, std::uint64_t, std::uint64_t, std::int64_t)>(
          "cublasLtMatrixLayoutInit_internal");
  Get* get_of_layout = find<Get>("cublasLtMatrixLayoutGetAttribute");
  Set* set_of_layout = find<Set>("cublasLtMatrixLayoutSetAttribute");

  bool usable() const {
    return version != nullptr && init_descriptor != nullptr && get_of_descriptor != nullptr &&
           set_of_descriptor != nullptr && init_layout != nullptr && get_of_layout != nullptr &&
           set_of_layout != nullptr && version() / 10000 == 13;
  }
};

// Reads or writes the attributes of one object; remembers whether all of it succeeded.
class Attributes {
 public:
  template <class T>
  T get(Get* function, const void* object, int attribute) {
    T value{};
    std::size_t written = 0;
    good_ = good_ && function(object, attribute, &value, sizeof value, &written) == kSuccess;
    return value;
  }
  template <class T>
  void set(Set* function, void* object, int attribute, T value) {
    good_ = good_ && function(object, attribute, &value, sizeof value) == kSuccess;
  }
  void require(bool holds) { good_ = good_ && holds; }
  bool good() const { return good_; }

 private:
  bool good_ = true;
};

template <std::size_t bytes>
using Bytes = std::array<unsigned char, bytes>;

// Whether the object has the bytes that make() gives an object of all zeros, where make() writes at
// all: what it leaves as it was is padding.
template <std::size_t bytes, class Make>
bool is_made_by(const Make& make, const void* object) {
  alignas(8) Bytes<bytes> zeros{}, ones;
  ones.fill(0xff);
  Bytes<bytes> actual;
  std::memcpy(actual.data(), object, bytes);
  if (!make(zeros.data()) || !make(ones.data())) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto written = static_cast<unsigned char>(~(zeros[i] ^ ones[i]));
    if (((actual[i] ^ zeros[i]) & written) != 0) return false;
  }
  return true;
}

struct Layout {
  int type = 0, order = kByColumns;
  std::int64_t rows = 0, columns = 0, ld = 0, stride = 0;
  std::int32_t batch = 0;
  bool is_plain = false;  // nothing else is set
};

std::optional<Layout> layout_of(const Functions& lt, const void* object) {
  Attributes read;
  Layout layout;
  layout.type = read.get<int>(lt.get_of_layout, object, kType);
  layout.order = read.get<std::int32_t>(lt.get_of_layout, object, kOrder);
  layout.rows = read.get<std::int64_t>(lt.get_of_layout, object, kRows);
  layout.columns = read.get<std::int64_t>(lt.get_of_layout, object, kColumns);
  layout.ld = read.get<std::int64_t>(lt.get_of_layout, object, kLd);
  layout.batch = read.get<std::int32_t>(lt.get_of_layout, object, kBatchCount);
  layout.stride = read.get<std::int64_t>(lt.get_of_layout, object, kBatchStride);
  if (!read.good()) return std::nullopt;
  const auto make = [&](void* made) {
    Attributes written;
    written.require(
        lt.init_layout(made, kLayoutBytes, layout.type, static_cast<std::uint64_t>(layout.rows),
                       static_cast<std::uint64_t>(layout.columns), layout.ld) == kSuccess);
    if (layout.order != kByColumns) written.set(lt.set_of_layout, made, kOrder, layout.order);
    written.set(lt.set_of_layout, made, kBatchCount, layout.batch);
    written.set(lt.set_of_layout, made, kBatchStride, layout.stride);
    return written.good();
  };
  layout.is_plain = is_made_by<kLayoutBytes>(make, object);
  return layout;
}

struct Descriptor {
  int compute_type = 0, scale_type = 0, pointer_mode = 0, op_a = 0, op_b = 0, epilogue = 0;
  const void *bias = nullptr, *aux = nullptr;
  std::int64_t aux_ld = 0, aux_stride = 0;
  int bias_type = kOfDsType, aux_type = kOfDsType;
  bool is_plain = false;  // nothing else is set
};

std::optional<Descriptor> descriptor_of(const Functions& lt, const void* object) {
  Attributes read;
  Descriptor d;
  const auto get = [&](int attribute) {
    return read.get<int>(lt.get_of_descriptor, object, attribute);
  };
  d.compute_type = get(kComputeType);
  d.scale_type = get(kScaleType);
  d.pointer_mode = get(kPointerMode);
  d.op_a = get(kTransposeA);
  d.op_b = get(kTransposeB);
  d.epilogue = get(kEpilogue);
  d.bias = read.get<const void*>(lt.get_of_descriptor, object, kBiasPointer);
  d.bias_type = get(kBiasType);
  d.aux = read.get<const void*>(lt.get_of_descriptor, object, kAuxPointer);
  d.aux_ld = read.get<std::int64_t>(lt.get_of_descriptor, object, kAuxLd);
  d.aux_stride = read.get<std::int64_t>(lt.get_of_descriptor, object, kAuxStride);
  d.aux_type = get(kAuxType);
  if (!read.good()) return std::nullopt;
  const auto make = [&](void* made) {
    Attributes written;
    const auto set = [&](int attribute, auto value) {
      written.set(lt.set_of_descriptor, made, attribute, value);
    };
    written.require(lt.init_descriptor(made, kDescriptorBytes, d.compute_type, d.scale_type) ==
                    kSuccess);
    set(kPointerMode, d.pointer_mode);
    set(kTransposeA, d.op_a);
    set(kTransposeB, d.op_b);
    set(kEpilogue, d.epilogue);
    set(kBiasPointer, d.bias);
    if (d.bias_type != kOfDsType) set(kBiasType, d.bias_type);
    if (d.aux != nullptr) set(kAuxPointer, d.aux);
    if (d.aux_ld != 0) set(kAuxLd, d.aux_ld);
    if (d.aux_stride != 0) set(kAuxStride, d.aux_stride);
    if (d.aux_type != kOfDsType) set(kAuxType, d.aux_type);
    return written.good();
  };
  d.is_plain = is_made_by<kDescriptorBytes>(make, object);
  return d;
}

// What is stored by rows is the transpose, stored by columns: JAX has transposed operands so.
void store_by_columns(Layout& layout, int& op) {
  if (layout.order != kByRows) return;
  layout.order = kByColumns;
  std::swap(layout.rows, layout.columns);
  if (op == kOpN) {
    op = kOpT;
  } else if (op == kOpT || op == kOpC) {
    op = kOpN;
  }
}

// Whether the descriptor's epilogue has a functor of this stage.
bool has(const Descriptor& d, Stage stage) {
  bool found = false;
  if (const auto epilogue = cublas_abi::lt_epilogue(d.epilogue)) {
    epilogue->for_each([&](const EpilogueFunctor& one, int) { found |= one.stage == stage; });
  }
  return found;
}

std::optional<Reason> objection_to(const Descriptor& d, const Layout& a, const Layout& b,
                                   const Layout& c, const Layout& of_d) {
  const auto is_plain = [](const Layout& one) { return one.is_plain && one.order == kByColumns; };
  const bool plain = d.is_plain && is_plain(a) && is_plain(b) && is_plain(c) && is_plain(of_d);
  const auto is_of_d = [&](int type) { return type == kOfDsType || type == of_d.type; };
  const bool has_bias = has(d, Stage::bias), has_aux = has(d, Stage::auxiliary);
  const bool lies_as_d = d.aux_ld == of_d.ld && (of_d.batch == 1 || d.aux_stride == of_d.stride);
  if (!plain || d.scale_type != 0 || c.type != of_d.type || (has_bias && !is_of_d(d.bias_type)) ||
      (has_aux && !(is_of_d(d.aux_type) && lies_as_d))) {
    return Reason::descriptor;
  }
  const std::int64_t k = d.op_a == kOpN ? a.columns : a.rows;
  const bool sound = (d.op_a == kOpN ? a.rows : a.columns) == of_d.rows &&
                     (d.op_b == kOpN ? b.columns : b.rows) == of_d.columns &&
                     (d.op_b == kOpN ? b.rows : b.columns) == k && c.rows == of_d.rows &&
                     c.columns == of_d.columns && c.ld >= c.rows && a.batch == of_d.batch &&
                     b.batch == of_d.batch && c.batch == of_d.batch;
  if (!sound) return Reason::mismatch;
  const bool has_operands = has_bias == (d.bias != nullptr) && (!has_aux || d.aux != nullptr);
  return has_operands ? std::nullopt : std::optional(Reason::operand);
}

// All but the addresses of the call, which are no part of the descriptors; nothing where these
// cannot be read.
std::optional<LtCall> read_call(const Functions& lt, const LtArguments& arguments) {
  auto d = descriptor_of(lt, arguments.descriptor);
  auto a = layout_of(lt, arguments.layout_a), b = layout_of(lt, arguments.layout_b);
  const auto c = layout_of(lt, arguments.layout_c), of_d = layout_of(lt, arguments.layout_d);
  if (!d || !a || !b || !c || !of_d) return std::nullopt;
  store_by_columns(*a, d->op_a);
  store_by_columns(*b, d->op_b);
  LtCall made;
  made.pointer_mode = d->pointer_mode;
  made.against = objection_to(*d, *a, *b, *c, *of_d);
  made.c_lies_as_d = c->ld == of_d->ld && (c->batch == 1 || c->stride == of_d->stride);
  CublasCall& call = made.call;
  call.function = CublasFunction::cublasLtMatmul;
  call.op_a = d->op_a;
  call.op_b = d->op_b;
  call.m = of_d->rows;
  call.n = of_d->columns;
  call.k = d->op_a == kOpN ? a->columns : a->rows;
  call.type_a = a->type;
  call.lda = a->ld;
  call.stride_a = a->stride;
  call.type_b = b->type;
  call.ldb = b->ld;
  call.stride_b = b->stride;
  call.type_c = of_d->type;
  call.ldc = of_d->ld;
  call.stride_c = of_d->stride;
  call.batch = of_d->batch;
  call.compute_type = d->compute_type;
  call.epilogue = d->epilogue;
  call.bias = d->bias;
  call.aux = d->aux;
  return made;
}

// The bytes of all descriptors of a call.
using Opaque = std::array<std::uint64_t, (kDescriptorBytes + 4 * kLayoutBytes) / 8>;

Opaque bytes_of(const LtArguments& arguments) {
  Opaque words;
  std::byte* at = reinterpret_cast<std::byte*>(words.data());
  std::memcpy(at, arguments.descriptor, kDescriptorBytes);
  at += kDescriptorBytes;
  for (const void* const layout :
       {arguments.layout_a, arguments.layout_b, arguments.layout_c, arguments.layout_d}) {
    std::memcpy(at, layout, kLayoutBytes);
    at += kLayoutBytes;
  }
  return words;
}

// As read_call(), which takes 2 us; equal descriptors say the same. A program's loop has few calls,
// which are found again although it makes their descriptors anew.
std::optional<LtCall> remembered_call(const Functions& lt, const LtArguments& arguments) {
  struct Remembered {
    Opaque bytes = {};  // of no descriptor at first: a compute type is not 0
    std::optional<LtCall> call;
  };
  constexpr std::size_t kSlots = 128;
  thread_local const auto slots = std::make_unique<std::array<Remembered, kSlots>>();
  const Opaque bytes = bytes_of(arguments);
  Remembered& slot = (*slots)[hash_words(bytes) % kSlots];
  if (slot.bytes != bytes) {
    slot.call = read_call(lt, arguments);
    slot.bytes = bytes;
  }
  return slot.call;
}

}  // namespace

LtCall lt_call(const LtArguments& arguments) {
  static const Functions lt;
  static const bool usable = lt.usable();
  LtCall without_sizes;
  without_sizes.call.function = CublasFunction::cublasLtMatmul;
  without_sizes.against = Reason::unreadable;
  if (!usable) return without_sizes;
  for (const void* const opaque : {arguments.descriptor, arguments.layout_a, arguments.layout_b,
                                   arguments.layout_c, arguments.layout_d}) {
    if (opaque == nullptr) return without_sizes;
  }
  LtCall made = remembered_call(lt, arguments).value_or(without_sizes);
  CublasCall& call = made.call;
  call.alpha = arguments.alpha;
  call.A = arguments.A;
  call.B = arguments.B;
  call.beta = arguments.beta;
  call.C = arguments.D;
  if (made.against || made.pointer_mode != kPointersOnHost) return made;
  if (call.beta == nullptr || *static_cast<const float*>(call.beta) == 0) return made;
  if (arguments.C == nullptr) made.against = Reason::null_address;
  if (!made.c_lies_as_d) made.against = Reason::descriptor;
  if (arguments.C != arguments.D) call.input_c = arguments.C;
  return made;
}

}  // namespace gemm_tune::preload
