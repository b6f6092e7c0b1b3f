// SPDX-License-Identifier: Apache-2.0
#include "python/binding/operand.h"

#include <cuda_runtime_api.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/device.h"

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

// Ends an exception of other code. KeyboardInterrupt and SystemExit, which are no Exception, are
// not that code's and go on.
void clear_exception() {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) nb::raise_python_error();
  PyErr_Clear();
}

// An attribute of the object or of its type; a null object where there is none, and where it
// cannot be had: some libraries raise other exceptions than AttributeError.
nb::object attribute_or_null(nb::handle object, const char* name) {
  PyObject* const found = PyObject_GetAttrString(object.ptr(), name);
  if (found == nullptr) clear_exception();
  return nb::steal(found);
}

// As Python shows it, shortened; its type where it cannot be shown.
std::string shown(nb::handle value) {
  constexpr std::size_t kLongest = 60;
  const nb::object text = nb::steal(PyObject_ASCII(value.ptr()));
  if (!text.is_valid()) {
    clear_exception();
    return "of the type " + full_type_name(value);
  }
  const std::string whole = nb::cast<std::string>(text);
  return whole.size() <= kLongest ? whole : whole.substr(0, kLongest) + "...";
}

// Sizes and strides so small that every sum and product of them is exact.
void check_reach(const Array& array) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const auto count = static_cast<std::size_t>(array.dimensions);
  const auto sizes = array.shape.begin(), sizes_end = sizes + array.dimensions;
  if (std::any_of(sizes, sizes_end, [](std::int64_t size) { return size < 0; })) {
    refuse(array.name, "has shape " + shape_text(array) + ": no size may be negative");
  }
  if (std::find(sizes, sizes_end, 0) != sizes_end) return;
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(elements, array.shape[i], &elements) || elements > kMost ||
        __builtin_mul_overflow(array.shape[i] - 1, array.strides[i], &reach) || reach > kMost ||
        reach < -kMost) {
      refuse(array.name, "has shape " + shape_text(array) +
                             " or strides that reach farther than any memory: their product must "
                             "be at most 2^60");
    }
  }
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
    const int is_tensor = tensor.is_valid() ? PyObject_IsInstance(object.ptr(), tensor.ptr()) : 0;
    if (is_tensor < 0) clear_exception();
    if (is_tensor == 1) {
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

ElementType type_of(const char* name, const dlpack::DataType& type) {
  for (int i = 0; i < kMatrixTypes; ++i) {
    const auto one = static_cast<ElementType>(i);
    if (type == dlpack::type_of(one)) return one;
  }
  const char* const kinds[] = {"int",    "uint",    "float", "an opaque type of ",
                               "bfloat", "complex", "bool"};
  const std::string kind = type.code < std::size(kinds) ? kinds[type.code] : "a type of ";
  refuse(name, "is " + (type.code == 6 ? kind : kind + std::to_string(type.bits)) +
                   ": it must be one of " + type_names(&TypeInfo::array_name));
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
  if (dimensions < 0 || dimensions > kMostDimensions) {
    refuse(name, "has " + std::to_string(dimensions) + " dimensions: it may have up to " +
                     std::to_string(kMostDimensions));
  }
}

// Of sizes that check_reach() has yet to see.
void wrapping_multiply(std::int64_t& product, std::int64_t factor) {
  static_cast<void>(__builtin_mul_overflow(product, factor, &product));
}

void take(Operand& operand, const dlpack::Tensor& tensor, Memory memory) {
  Array& array = operand.array;
  check_place(array.name, tensor.device.type, memory);
  check_dimensions(array.name, tensor.dimensions);
  if (tensor.dimensions > 0 && tensor.shape == nullptr) {
    refuse(array.name, "gives a tensor of DLPack without its shape");
  }
  array.type = type_of(array.name, tensor.type);
  array.dimensions = tensor.dimensions;
  array.data =
      tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  operand.device = tensor.device.ordinal;
  std::int64_t packed = 1;
  for (auto i = static_cast<std::size_t>(tensor.dimensions); i-- > 0;) {
    array.shape[i] = tensor.shape[i];
    array.strides[i] = tensor.strides != nullptr ? tensor.strides[i] : packed;
    wrapping_multiply(packed, tensor.shape[i]);
  }
  check_reach(array);
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
  const auto known = find_type(
      [&](const TypeInfo& one) { return type == "torch." + std::string(one.array_name); });
  if (!known) {
    refuse(array.name, "is " + type + ": it must be one of " + type_names(&TypeInfo::array_name));
  }
  array.type = *known;
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

ElementType type_of_text(const char* name, nb::handle text) {
  // NumPy has no letters for the others, which come by __dlpack__ only.
  const auto type = find_type([&](const TypeInfo& one) {
    const char letter = one.dlpack_code == 2 ? 'f' : one.dlpack_code == 0 ? 'i' : 0;
    const std::string typestr =
        std::string(one.bits > 8 ? "<" : "|") + letter + std::to_string(one.bits / 8);
    return letter != 0 && PyUnicode_CompareWithASCIIString(text.ptr(), typestr.c_str()) == 0;
  });
  if (type) return *type;
  refuse(name, "is of the type " + shown(text) + ": it must be one of " +
                   type_names(&TypeInfo::array_name) + " (bfloat16 and float8 by __dlpack__ only)");
}

// An array's __cuda_array_interface__, version 3; every failure names the argument and the field.
// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
class Interface {
 public:
  Interface(const char* name, nb::handle interface) : name_(name) {
    if (!nb::isinstance<nb::dict>(interface)) {
      refuse(name, "has a __cuda_array_interface__ that is no dict");
    }
    fields_ = nb::borrow<nb::dict>(interface);
  }

  // A null object where there is none, or None.
  nb::object optional(const char* key) const {
    PyObject* const found = PyDict_GetItemString(fields_.ptr(), key);  // an exception is cleared
    return found == nullptr || found == Py_None ? nb::object() : nb::borrow(found);
  }

  nb::object required(const char* key) const {
    nb::object found = optional(key);
    if (!found.is_valid()) {
      refuse(name_, "has a __cuda_array_interface__ without '" + std::string(key) + "'");
    }
    return found;
  }

  // A tuple of whole numbers, which must be as many as `count` says, if it does.
  int numbers(const char* key, nb::handle value, std::optional<int> count, Extents& into) const {
    const char* const wanted = "a tuple of whole numbers";
    const Py_ssize_t size = PySequence_Check(value.ptr()) ? PyObject_Size(value.ptr()) : -1;
    if (size < 0) refuse_value(key, value, wanted);
    if (!count) check_dimensions(name_, size);
    if (count && size != *count) {
      refuse_value(key, value, "as long as 'shape', " + std::to_string(*count));
    }
    for (Py_ssize_t i = 0; i < size; ++i) {
      const nb::object entry = nb::steal(PySequence_GetItem(value.ptr(), i));
      if (!entry.is_valid()) refuse_value(key, value, wanted);
      const long long number = PyLong_AsLongLong(entry.ptr());
      if (number == -1 && PyErr_Occurred() != nullptr) refuse_value(key, value, wanted);
      into[static_cast<std::size_t>(i)] = number;
    }
    return static_cast<int>(size);
  }

  void* address(const char* key, nb::handle value, nb::handle whole) const {
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    const unsigned long long number = index.is_valid() ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
    if (PyErr_Occurred() != nullptr) {
      refuse_value(key, whole, key == std::string("data") ? "(address, read-only)" : "an address");
    }
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  }

  // The entry of a tuple.
  nb::object entry(const char* key, nb::handle value, Py_ssize_t index) const {
    nb::object found = nb::steal(PySequence_GetItem(value.ptr(), index));
    if (!found.is_valid()) refuse_value(key, value, "(address, read-only)");
    return found;
  }

  [[noreturn]] void refuse_value(const char* key, nb::handle value,
                                 const std::string& wanted) const {
    if (PyErr_Occurred() != nullptr) clear_exception();
    refuse(name_, "has a __cuda_array_interface__ whose '" + std::string(key) + "' is " +
                      shown(value) + ": it must be " + wanted);
  }

 private:
  const char* name_;
  nb::dict fields_;
};

void take_cuda_array_interface(Operand& operand, nb::handle given, Memory memory) {
  Array& array = operand.array;
  const char* const name = array.name;
  const Interface interface(name, given);
  if (interface.optional("mask").is_valid()) {
    refuse(name, "has a mask: only arrays without one are multiplied");
  }
  const nb::object typestr = interface.required("typestr");
  if (!nb::isinstance<nb::str>(typestr)) {
    interface.refuse_value("typestr", typestr, "a text, as in '<f4'");
  }
  array.type = type_of_text(name, typestr);
  const std::int64_t bytes = bytes_of(array.type);
  array.dimensions = interface.numbers("shape", interface.required("shape"), {}, array.shape);
  const auto shape_end = array.shape.begin() + array.dimensions;
  const bool is_empty = std::find(array.shape.begin(), shape_end, 0) != shape_end;
  if (const nb::object strides = interface.optional("strides"); strides.is_valid()) {
    interface.numbers("strides", strides, array.dimensions, array.strides);
    for (std::size_t i = 0; i < static_cast<std::size_t>(array.dimensions); ++i) {
      if (array.strides[i] % bytes != 0) {
        refuse(name, "has a stride of " + std::to_string(array.strides[i]) +
                         " bytes: strides must be whole elements");
      }
      array.strides[i] /= bytes;
    }
  } else {
    std::int64_t packed = 1;
    for (auto i = static_cast<std::size_t>(array.dimensions); i-- > 0;) {
      array.strides[i] = packed;
      wrapping_multiply(packed, array.shape[i]);
    }
  }
  check_reach(array);
  const nb::object data = interface.required("data");
  array.data = interface.address("data", interface.entry("data", data, 0), data);
  if (std::string(name) == "out") {
    const int is_read_only = PyObject_IsTrue(interface.entry("data", data, 1).ptr());
    if (is_read_only < 0) interface.refuse_value("data", data, "(address, read-only)");
    if (is_read_only == 1)
      refuse(name, "is read-only: the result needs memory that may be written");
  }
  if (const nb::object stream = interface.optional("stream"); stream.is_valid()) {
    // 1 and 2 are CUDA's names for the default streams: of all threads, and of this one.
    operand.stream = interface.address("stream", stream, stream);
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
  const auto failed = [&](const char* function) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) nb::raise_python_error();
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);  // before Python 3.12 a value may be its text
    const nb::object held[] = {nb::steal(type), nb::steal(value), nb::steal(trace)};
    refuse(array.name, "fails in its " + std::string(function) + ": " +
                           (held[1].is_valid() ? shown(held[1]) : shown(held[0])));
  };
  Extents place{};  // the type of device, and its number
  const nb::object device =
      nb::steal(PyObject_CallMethod(object.ptr(), "__dlpack_device__", nullptr));
  if (!device.is_valid()) failed("__dlpack_device__()");
  for (Py_ssize_t i = 0; i < 2; ++i) {
    const nb::object entry = nb::steal(PySequence_GetItem(device.ptr(), i));
    place[static_cast<std::size_t>(i)] = entry.is_valid() ? PyLong_AsLongLong(entry.ptr()) : 0;
    if (PyErr_Occurred() != nullptr) failed("__dlpack_device__()");
  }
  const auto type = static_cast<dlpack::DeviceType>(
      std::clamp<std::int64_t>(place[0], -1, std::numeric_limits<std::int32_t>::max()));
  check_place(array.name, type, memory);
  constexpr int kDefaultStreamOfDlpack = 1;
  const nb::object stream =
      type == dlpack::DeviceType::cpu ? nb::none() : nb::object(nb::int_(kDefaultStreamOfDlpack));
  try {
    operand.owner = object.attr("__dlpack__")(nb::arg("stream") = stream);
  } catch (nb::python_error& raised) {
    raised.restore();
    failed("__dlpack__()");
  }
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
  if (memory == Memory::of_cuda && (operand.device < 0 || operand.device >= device_count())) {
    refuse(array.name, "is on device " + std::to_string(operand.device) + " by its __dlpack__(): " +
                           "the devices here are " + std::to_string(device_count()));
  }
  operand.names_stream = true;  // the default one
}

}  // namespace

// Of the few types that a program multiplies: more are not remembered. An entry holds its type, so
// that no other can get its address. Guarded by the GIL.
Kind kind_of(nb::handle object) {
  constexpr std::size_t kMostKnown = 64;
  static auto* const known = new std::vector<std::pair<PyTypeObject*, Kind>>;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  for (const auto& [one, kind] : *known) {
    if (one == type) return kind;
  }
  const Kind kind = kind_of_type(object);
  if (known->size() < kMostKnown) {
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    known->emplace_back(type, kind);
  }
  return kind;
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
