// SPDX-License-Identifier: Apache-2.0
#include "python/binding/prepare.h"

#include <cstdint>
#include <string>

#include "python/binding/handle.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

const char* framework_name(Kind::Library library) {
  switch (library) {
    case Kind::Library::torch:
    case Kind::Library::torch_subclass:
      return "PyTorch";
    case Kind::Library::cupy:
      return "CuPy";
    case Kind::Library::other:
      break;
  }
  return "another library";
}

void check_together(const Operand& first, const Operand& other) {
  const std::string begins = std::string(other.array.name) + " is ";
  if (is_torch(first.kind) != is_torch(other.kind) ||
      (!is_torch(first.kind) && first.kind.library != other.kind.library)) {
    throw ArgumentError(begins + "of " + framework_name(other.kind.library) + " and a of " +
                        framework_name(first.kind.library) +
                        ": all must be of one library, whose current stream is used");
  }
  if (first.device != other.device) {
    throw ArgumentError(begins + "on device " + std::to_string(other.device) + " and a on device " +
                        std::to_string(first.device) + ": all must be on one device");
  }
  if (first.names_stream && other.names_stream && first.stream != other.stream) {
    throw ArgumentError(begins + "in use on another stream than a: all must be of one stream");
  }
}

// The operand packed, in memory of its own.
nb::object packed(const Operand& operand) {
  if (is_torch(operand.kind)) return operand.object.attr("contiguous")();
  if (operand.kind.library == Kind::Library::cupy) {
    return nb::module_::import_("cupy").attr("ascontiguousarray")(operand.object);
  }
  throw ArgumentError(std::string(operand.array.name) +
                      " has strides that need a copy: the elements of its rows or of its columns "
                      "must lie one after another");
}

void note_failure(void* context, const char*, const char* message) {
  *static_cast<std::string*>(context) = message;
}

nb::object allocated(const Operand& like, const ResultShape& shape) {
  Extents extents = shape.shape;
  if (like.kind.api != nullptr) {
    dlpack::Tensor prototype{};
    prototype.device = {dlpack::DeviceType::cuda, like.device};
    prototype.dimensions = shape.dimensions;
    prototype.type = dlpack::type_of(like.array.type);
    prototype.shape = extents.data();
    dlpack::VersionedTensor* made = nullptr;
    std::string failure;
    if (like.kind.api->allocate(&prototype, &made, &failure, note_failure) != 0) {
      raise("DeviceError", "the result cannot be allocated: " + failure);
    }
    void* object = nullptr;
    if (like.kind.api->object_from_owned(made, &object) != 0) nb::raise_python_error();
    return nb::steal(static_cast<PyObject*>(object));
  }
  nb::list sizes;
  for (int i = 0; i < shape.dimensions; ++i) sizes.append(extents[static_cast<std::size_t>(i)]);
  if (is_torch(like.kind)) {
    return like.object.attr("new_empty")(nb::tuple(sizes));
  }
  if (like.kind.library == Kind::Library::cupy) {
    return nb::module_::import_("cupy").attr("empty")(nb::tuple(sizes), like.object.attr("dtype"));
  }
  throw ArgumentError("out is needed: a result can be made for PyTorch and CuPy only");
}

}  // namespace

void* current_stream(const Operand& of) {
  if (of.kind.api != nullptr) {
    void* stream = nullptr;
    if (of.kind.api->current_stream(dlpack::DeviceType::cuda, of.device, &stream) != 0) {
      nb::raise_python_error();
    }
    return stream;
  }
  const auto pointer = [](nb::handle number) {
    return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(number));
  };
  if (of.kind.way == Kind::Way::torch_attributes) {
    const nb::object internals = nb::module_::import_("torch").attr("_C");
    return pointer(internals.attr("_cuda_getCurrentRawStream")(of.device));
  }
  if (of.kind.library == Kind::Library::cupy) {
    return pointer(
        nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")().attr("ptr"));
  }
  return of.stream;
}

bool is_torch(const Kind& kind) {
  return kind.library == Kind::Library::torch || kind.library == Kind::Library::torch_subclass;
}

Prepared prepare(nb::handle a, nb::handle b, nb::handle bias, nb::handle out, Memory memory) {
  Operand A("a", a, memory), B("b", b, memory);
  std::optional<Operand> added, D;
  check_together(A, B);
  if (!bias.is_none()) check_together(A, added.emplace("bias", bias, memory));
  Prepared prepared;
  if (!out.is_none()) {
    prepared.result = nb::borrow(out);
    check_together(A, D.emplace("out", out, memory));
    if (D->array.data != nullptr &&
        (D->array.data == A.array.data || D->array.data == B.array.data)) {
      throw ArgumentError(std::string("out shares its memory with ") +
                          (D->array.data == A.array.data ? "a" : "b") +
                          ": it must not overlap an operand");
    }
  } else {
    // Of f32 where one of a and b is: that operand is what the result is like.
    const bool is_like_b = bytes_of(B.array.type) > bytes_of(A.array.type);
    prepared.result = allocated(is_like_b ? B : A, result_shape(A.array, B.array));
    D.emplace("out", prepared.result, memory);
  }
  while (!prepared.product) {
    try {
      prepared.product.emplace(A.array, B.array, added ? &added->array : nullptr, D->array);
    } catch (const NeedsCopy& needed) {
      Operand& which = needed.array == &A.array ? A : needed.array == &B.array ? B : *added;
      prepared.kept.push_back(packed(which));
      which = Operand(which.array.name, prepared.kept.back(), memory);
    }
  }
  for (const Operand* const one : {&A, &B, added ? &*added : nullptr, &*D}) {
    if (one != nullptr && one->owner.is_valid()) prepared.kept.push_back(one->owner);
  }
  prepared.device = A.device;
  prepared.waits = A.kind.way == Kind::Way::dlpack || B.kind.way == Kind::Way::dlpack ||
                   (added && added->kind.way == Kind::Way::dlpack);
  if (!prepared.product->is_empty() && memory == Memory::of_cuda) {
    prepared.stream = current_stream(A.names_stream || !B.names_stream ? A : B);
  }
  return prepared;
}

}  // namespace gemm_tune
