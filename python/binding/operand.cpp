// SPDX-License-Identifier: Apache-2.0
#include "python/binding/operand.h"

#include <cuda_runtime_api.h>
#include <nanobind/stl/string.h>

#include <array>
#include <utility>
#include <vector>

namespace gemm_tune {
namespace {

namespace nb = nanobind;

std::string full_type_name(nb::handle object) {
  const nb::handle type = object.type();
  const std::string module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  const std::string name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

[[noreturn]] void refuse(const char* argument, const std::string& rest) {
  throw ArgumentError(std::string(argument) + " " + rest);
}

// An attribute of the object or of its type; a null object where there is none, and where it
// cannot be had: some libraries raise other exceptions than AttributeError. KeyboardInterrupt and
// SystemExit, which are no Exception, are not theirs.
nb::object attribute_or_null(nb::handle object, const char* name) {
  PyObject* const found = PyObject_GetAttrString(object.ptr(), name);
  if (found == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) nb::raise_python_error();
    PyErr_Clear();
  }
  return nb::steal(found);
}

// A module that is imported already; a null handle where it is not.
nb::handle imported(const char* name) {
  const nb::handle modules = PyImport_GetModuleDict();
  return PyDict_GetItemString(modules.ptr(), name);
}

const dlpack::ExchangeApi* exchange_api_of(nb::handle type) {
  const nb::object capsule = attribute_or_null(type, "__dlpack_c_exchange_api__");
  constexpr const char* kName = "dlpack_exchange_api";
  if (!capsule.is_valid() || PyCapsule_IsValid(capsule.ptr(), kName) == 0) return nullptr;
  const auto* const api =
      static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  return api->version.major == 1 && api->borrow_from_object != nullptr ? api : nullptr;
}

Kind kind_of_type(nb::handle object) {
  const nb::handle type = object.type();
  if (const nb::handle torch = imported("torch"); torch.is_valid()) {
    const nb::object tensor = attribute_or_null(torch, "Tensor");
    if (tensor.is_valid() && PyObject_IsInstance(object.ptr(), tensor.ptr()) == 1) {
      const bool is_plain = type.is(tensor) || type.is(torch.attr("nn").attr("Parameter"));
      const dlpack::ExchangeApi* const api = exchange_api_of(type);
      return {is_plain ? Kind::Library::torch : Kind::Library::torch_subclass,
              api != nullptr ? Kind::Way::exchange_api : Kind::Way::torch_attributes, api};
    }
  }
  const std::string module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  const bool is_cupy = module == "cupy" || module.rfind("cupy.", 0) == 0;
  const Kind::Library library = is_cupy ? Kind::Library::cupy : Kind::Library::other;
  if (const dlpack::ExchangeApi* const api = exchange_api_of(type)) {
    return {library, Kind::Way::exchange_api, api};
  }
  return {library, Kind::Way::cuda_array_interface, nullptr};
}

gt_type type_of(const char* name, const dlpack::DataType& type) {
  if (type.lanes == 1 && type.code == dlpack::kFloat && type.bits == 32) return GT_F32;
  if (type.lanes == 1 && type.code == dlpack::kFloat && type.bits == 16) return GT_F16;
  if (type.lanes == 1 && type.code == dlpack::kBfloat && type.bits == 16) return GT_BF16;
  const char* const kinds[] = {"int",    "uint",    "float", "an opaque type of ",
                               "bfloat", "complex", "bool"};
  const std::string kind = type.code < std::size(kinds) ? kinds[type.code] : "a type of ";
  refuse(name, "is " + (type.code == 6 ? kind : kind + std::to_string(type.bits)) +
                   ": it must be float32, float16 or bfloat16");
}

std::string place_text(dlpack::DeviceType type) {
  switch (type) {
    case dlpack::DeviceType::cpu:
      return "in the memory of the CPU";
    case dlpack::DeviceType::cuda_host:
      return "in pinned memory of the CPU";
    case dlpack::DeviceType::rocm:
      return "on a ROCm device";
    default:
      return "on a device of DLPack's type " + std::to_string(static_cast<int>(type));
  }
}

void check_place(const char* name, dlpack::DeviceType type, Memory memory) {
  if (memory == Memory::any || type == dlpack::DeviceType::cuda ||
      type == dlpack::DeviceType::cuda_managed) {
    return;
  }
  refuse(name,
         "is " + place_text(type) +
             ": it must be on a CUDA device, as tensor.cuda() or cupy.asarray() put it there");
}

void check_dimensions(const char* name, std::int64_t dimensions) {
  if (dimensions > kMostDimensions) {
    refuse(name, "has " + std::to_string(dimensions) + " dimensions: it may have " +
                     std::to_string(kMostDimensions));
  }
}

void take(Operand& operand, const dlpack::Tensor& tensor, Memory memory) {
  Array& array = operand.array;
  check_place(array.name, tensor.device.type, memory);
  check_dimensions(array.name, tensor.dimensions);
  array.type = type_of(array.name, tensor.type);
  array.dimensions = tensor.dimensions;
  array.data =
      tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  operand.device = tensor.device.ordinal;
  std::int64_t packed = 1;
  for (auto i = static_cast<std::size_t>(tensor.dimensions); i-- > 0;) {
    array.shape[i] = tensor.shape[i];
    array.strides[i] = tensor.strides != nullptr ? tensor.strides[i] : packed;
    packed *= tensor.shape[i];
  }
}

std::int64_t whole_number(nb::handle value) {
  const long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return number;
}

// PyTorch before its exchange API.
void take_torch_attributes(Operand& operand, Memory memory) {
  Array& array = operand.array;
  const nb::handle tensor = operand.object;
  const nb::object device = tensor.attr("device");
  const std::string place = nb::cast<std::string>(nb::str(device.attr("type")));
  check_place(array.name, place == "cuda" ? dlpack::DeviceType::cuda : dlpack::DeviceType::cpu,
              memory);
  const nb::object ordinal = device.attr("index");
  operand.device = ordinal.is_none() ? 0 : static_cast<int>(whole_number(ordinal));
  const nb::object dtype = tensor.attr("dtype");
  const std::string type = nb::cast<std::string>(nb::str(dtype));
  if (type == "torch.float32") {
    array.type = GT_F32;
  } else if (type == "torch.float16") {
    array.type = GT_F16;
  } else if (type == "torch.bfloat16") {
    array.type = GT_BF16;
  } else {
    refuse(array.name, "is " + type + ": it must be float32, float16 or bfloat16");
  }
  const nb::object shape = tensor.attr("shape"), strides = tensor.attr("stride")();
  const auto dimensions = static_cast<std::int64_t>(nb::len(shape));
  check_dimensions(array.name, dimensions);
  array.dimensions = static_cast<int>(dimensions);
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    array.shape[i] = whole_number(shape[i]);
    array.strides[i] = whole_number(strides[i]);
  }
  array.data = reinterpret_cast<void*>(whole_number(tensor.attr("data_ptr")()));
}

int device_of_pointer(const char* name, const void* pointer) {
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, pointer);
  if (status != cudaSuccess) cudaGetLastError();
  if (status != cudaSuccess ||
      (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged)) {
    refuse(name,
           "is not in the memory of a CUDA device of this process: its "
           "__cuda_array_interface__ must name such memory");
  }
  return attributes.device;
}

gt_type type_of_text(const char* name, const std::string& text) {
  if (text == "<f4") return GT_F32;
  if (text == "<f2") return GT_F16;
  refuse(name, "is of the type '" + text +
                   "': it must be float32, float16 or bfloat16 (bfloat16 by __dlpack__ only)");
}

// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3.
void take_cuda_array_interface(Operand& operand, nb::handle interface, Memory memory) {
  Array& array = operand.array;
  const char* const name = array.name;
  if (!nb::isinstance<nb::dict>(interface))
    refuse(name, "has a __cuda_array_interface__ that is no dict");
  const nb::dict fields = nb::borrow<nb::dict>(interface);
  const auto field = [&](const char* key) -> nb::object {
    if (!fields.contains(key)) {
      refuse(name, "has a __cuda_array_interface__ without '" + std::string(key) + "'");
    }
    return fields[key];
  };
  if (fields.contains("mask") && !fields["mask"].is_none()) {
    refuse(name, "has a mask: only arrays without one are multiplied");
  }
  array.type = type_of_text(name, nb::cast<std::string>(nb::str(field("typestr"))));
  const std::int64_t bytes = array.type == GT_F32 ? 4 : 2;
  const nb::object shape = field("shape"), data = field("data");
  const nb::object strides =
      fields.contains("strides") ? nb::object(fields["strides"]) : nb::none();
  const auto dimensions = static_cast<std::int64_t>(nb::len(shape));
  check_dimensions(name, dimensions);
  array.dimensions = static_cast<int>(dimensions);
  std::int64_t packed = 1;
  bool is_empty = false;
  for (auto i = static_cast<std::size_t>(dimensions); i-- > 0;) {
    array.shape[i] = whole_number(shape[i]);
    is_empty = is_empty || array.shape[i] == 0;
    const std::int64_t stride = strides.is_none() ? packed * bytes : whole_number(strides[i]);
    if (stride % bytes != 0) {
      refuse(name, "has a stride of " + std::to_string(stride) +
                       " bytes: strides must be whole "
                       "elements");
    }
    array.strides[i] = stride / bytes;
    packed *= array.shape[i];
  }
  array.data = reinterpret_cast<void*>(
      static_cast<std::uintptr_t>(PyLong_AsUnsignedLongLong(nb::object(data[0]).ptr())));
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  if (std::string(name) == "out" && PyObject_IsTrue(nb::object(data[1]).ptr()) == 1) {
    refuse(name, "is read-only: the result needs memory that may be written");
  }
  if (fields.contains("stream") && !fields["stream"].is_none()) {
    // 1 and 2 are CUDA's names for the default streams: of all threads, and of this one.
    operand.stream = reinterpret_cast<void*>(
        static_cast<std::uintptr_t>(PyLong_AsUnsignedLongLong(nb::object(fields["stream"]).ptr())));
    if (PyErr_Occurred() != nullptr) nb::raise_python_error();
    operand.names_stream = true;
  }
  if (memory == Memory::any || is_empty) return;
  operand.device = operand.kind.library == Kind::Library::cupy
                       ? static_cast<int>(whole_number(operand.object.attr("device").attr("id")))
                       : device_of_pointer(name, array.data);
}

// The producer's work is ordered before this process's default stream.
void take_dlpack(Operand& operand, Memory memory) {
  Array& array = operand.array;
  const nb::handle object = operand.object;
  const nb::object place = object.attr("__dlpack_device__")();
  const auto type = static_cast<dlpack::DeviceType>(whole_number(place[0]));
  check_place(array.name, type, memory);
  constexpr int kDefaultStreamOfDlpack = 1;
  const nb::object stream =
      type == dlpack::DeviceType::cpu ? nb::none() : nb::object(nb::int_(kDefaultStreamOfDlpack));
  operand.owner = object.attr("__dlpack__")(nb::arg("stream") = stream);
  const dlpack::Tensor* tensor = nullptr;
  PyObject* const capsule = operand.owner.ptr();
  if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    tensor =
        &static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"))->tensor;
  } else {
    refuse(array.name, "gives no tensor by its __dlpack__()");
  }
  // Never renamed to "used_dltensor": the capsule still owns the tensor and deletes it.
  take(operand, *tensor, memory);
  operand.names_stream = true;  // the default one
}

}  // namespace

// Of the few types that a program multiplies. An entry holds its type, so that no other can get its
// address. Guarded by the GIL.
const Kind& kind_of(nb::handle object) {
  static auto* const known = new std::vector<std::pair<PyTypeObject*, Kind>>;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  for (const auto& [one, kind] : *known) {
    if (one == type) return kind;
  }
  const Kind kind = kind_of_type(object);
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return known->emplace_back(type, kind).second;
}

nb::object error_class(const char* name) {
  return nb::module_::import_("gemm_tune._errors").attr(name);
}

Operand::Operand(const char* name, nb::handle given, Memory memory) : object(given) {
  array.name = name;
  kind = kind_of(given);
  switch (kind.way) {
    case Kind::Way::exchange_api: {
      dlpack::Tensor tensor{};
      if (kind.api->borrow_from_object(given.ptr(), &tensor) != 0) {
        nb::python_error failure;
        if (kind.library == Kind::Library::torch) throw NoMemoryOfItsOwn();
        throw failure;
      }
      take(*this, tensor, memory);
      return;
    }
    case Kind::Way::torch_attributes:
      take_torch_attributes(*this, memory);
      return;
    case Kind::Way::cuda_array_interface:
    case Kind::Way::dlpack:
      break;
  }
  if (const nb::object interface = attribute_or_null(given, "__cuda_array_interface__");
      interface.is_valid()) {
    take_cuda_array_interface(*this, interface, memory);
    return;
  }
  if (nb::hasattr(given, "__dlpack__") && nb::hasattr(given, "__dlpack_device__")) {
    kind.way = Kind::Way::dlpack;
    take_dlpack(*this, memory);
    return;
  }
  refuse(name, "is of the type " + full_type_name(given) +
                   ": it must be an array on a CUDA device, of PyTorch, CuPy, or with "
                   "__cuda_array_interface__ or __dlpack__");
}

}  // namespace gemm_tune
