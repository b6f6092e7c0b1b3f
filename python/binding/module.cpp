// SPDX-License-Identifier: Apache-2.0
// The module gemm_tune.lib._core: arguments of Python as calls of the C interface.
//
// Everything that a call of matmul() with out needs is here, since a Python frame costs as much as
// the whole of gt_gemm on the host; all else is Python around it. Any thread; the GIL is released
// while the library works.
#include <cuda_runtime_api.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "gpu/cuda_folders.h"
#include "gpu/device.h"
#include "python/binding/operand.h"
#include "python/binding/problem_text.h"
#include "python/binding/product.h"

namespace gemm_tune {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

[[noreturn]] void raise(const char* error, const std::string& sentence) {
  PyErr_SetString(error_class(error).ptr(), sentence.c_str());
  nb::raise_python_error();
}

void check(gt_status status) {
  switch (status) {
    case GT_OK:
      return;
    case GT_INVALID_ARGUMENT:
      raise("ArgumentError", gt_last_error());
    case GT_DATABASE_ERROR:
      raise("DatabaseError", gt_last_error());
    case GT_DEVICE_ERROR:
      raise("DeviceError", gt_last_error());
    case GT_NO_KERNEL:
      raise("NoKernelError", gt_last_error());
    case GT_INTERNAL_ERROR:
      break;
  }
  raise("InternalError", gt_last_error());
}

// The handle that all calls use. Earlier ones stay open: their kernels may be at work, or in a
// graph. Written with the GIL held.
std::atomic<gt_handle*> current_handle = nullptr;

const char* text_or_null(const std::optional<std::string>& text) {
  if (!text) return nullptr;
  if (text->find('\0') != std::string::npos) {  // C would read another path
    throw ArgumentError("'" + std::string(text->c_str()) + "' goes on behind a null character");
  }
  return text->c_str();
}

void open(const std::optional<std::string>& database,
          const std::optional<std::string>& kernel_cache, int policy, double refine_ms,
          const std::optional<std::string>& refined_choices) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = text_or_null(database);
  options.kernel_cache = text_or_null(kernel_cache);
  options.policy = static_cast<gt_policy>(policy);
  options.refine_ms = refine_ms;
  options.refined_choices = text_or_null(refined_choices);
  gt_handle* opened = nullptr;
  gt_status status = GT_OK;
  {
    const nb::gil_scoped_release others_run;
    status = gt_open_with(&options, &opened);
  }
  check(status);
  current_handle = opened;
}

gt_handle* handle() {
  if (current_handle == nullptr) open({}, {}, GT_POLICY_BEST, 0, {});
  return current_handle;
}

void reload() {
  if (current_handle == nullptr) return;  // reads the database when it is opened
  gt_status status = GT_OK;
  {
    const nb::gil_scoped_release others_run;
    status = gt_reload(current_handle);
  }
  check(status);
}

// A call that notes each problem while a capture is open. Guarded by the GIL.
nb::object& recorder() {
  static auto* const only = new nb::object;
  return *only;
}

// Guarded by the GIL, and by no lock of Python's: the garbage collector may close a capture at any
// time, also while its thread opens another.
int open_captures = 0;

int count_captures(int change) { return open_captures += change; }

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

bool is_torch(const Kind& kind) {
  return kind.library == Kind::Library::torch || kind.library == Kind::Library::torch_subclass;
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
  const gt_type type = like.array.type;
  if (like.kind.api != nullptr) {
    dlpack::Tensor prototype{};
    prototype.device = {dlpack::DeviceType::cuda, like.device};
    prototype.dimensions = shape.dimensions;
    prototype.type = {type == GT_BF16 ? dlpack::kBfloat : dlpack::kFloat,
                      static_cast<std::uint8_t>(type == GT_F32 ? 32 : 16), 1};
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

// Launches go to the device for as long as this lives.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) {
    static const bool has_one = device_count() <= 1;
    if (has_one) return;
    const int before = current_device();
    if (before == ordinal) return;
    set_device(ordinal);
    before_ = before;
  }
  ~OnDevice() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

// The arguments of matmul(), read and fitted together.
struct Prepared {
  nb::object result;
  std::optional<Product> product;
  void* stream = nullptr;
  int device = 0;
  bool waits = false;            // an operand's memory may be used again once the call is over
  std::vector<nb::object> kept;  // until the launch: copies of operands, and who owns descriptions
};

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
    prepared.result = allocated(A, result_shape(A.array, B.array));
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

void note(const Product& product) {
  const nb::object& record = recorder();
  product.for_each([&](const gt_gemm_call& call) { record(problem_text(call)); });
}

// What the operator for PyTorch does: autograd, subclasses of tensors.
nb::object by_operator(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  return nb::module_::import_("gemm_tune.torch").attr("_matmul")(a, b, bias, out);
}

bool requires_grad(nb::handle tensor) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  PyObject* const answer = PyObject_GetAttr(tensor.ptr(), name);
  if (answer == nullptr) nb::raise_python_error();
  Py_DECREF(answer);
  return answer == Py_True;
}

bool is_grad_enabled() {
  static auto* const asked = new nb::object(nb::module_::import_("torch").attr("is_grad_enabled"));
  return (*asked)().ptr() == Py_True;
}

// Whether the call is autograd's, or of a subclass that has its own idea of a product.
bool is_for_operator(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  bool is_subclass = false, has_grad = false;
  for (const nb::handle operand : {a, b, bias, out}) {
    if (operand.is_none()) continue;
    const Kind kind = kind_of(operand);
    if (!is_torch(kind)) return false;
    is_subclass = is_subclass || kind.library == Kind::Library::torch_subclass;
    has_grad = has_grad || requires_grad(operand);
  }
  return is_subclass || (has_grad && is_grad_enabled());
}

// GT_OK, or the first failure, with the GIL released.
gt_status launch(gt_handle* with, const Prepared& prepared) {
  const nb::gil_scoped_release others_run;
  const OnDevice device(prepared.device);
  auto* const stream = static_cast<CUstream_st*>(prepared.stream);
  gt_status status = GT_OK;
  if (prepared.product->is_one_call()) {
    status = gt_gemm(with, stream, &prepared.product->first());
  } else {
    prepared.product->for_each([&](const gt_gemm_call& call) {
      if (status == GT_OK) status = gt_gemm(with, stream, &call);
    });
  }
  if (prepared.waits) cudaStreamSynchronize(stream);
  return status;
}

// Without autograd's part: what the operator calls.
nb::object matmul_of_plain_tensors(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  Prepared prepared = prepare(a, b, bias, out, Memory::of_cuda);
  if (!prepared.product->is_empty()) {
    if (open_captures > 0) note(*prepared.product);
    check(launch(handle(), prepared));
  }
  return std::move(prepared.result);
}

nb::object matmul(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  if (is_for_operator(a, b, bias, out)) return by_operator(a, b, bias, out);
  try {
    return matmul_of_plain_tensors(a, b, bias, out);
  } catch (const NoMemoryOfItsOwn&) {
    return by_operator(a, b, bias, out);
  }
}

// Runs the body; its exceptions are Python's.
template <class Body>
PyObject* guarded(const Body& body) noexcept {
  const char* error = "InternalError";
  std::string sentence;
  try {
    return body().release().ptr();
  } catch (nb::python_error& raised) {
    raised.restore();
    return nullptr;
  } catch (const ArgumentError& raised) {
    error = "ArgumentError";
    sentence = raised.what();
  } catch (const DeviceError& raised) {
    error = "DeviceError";
    sentence = raised.what();
  } catch (const std::exception& raised) {
    sentence = raised.what();
  }
  try {
    PyErr_SetString(error_class(error).ptr(), sentence.c_str());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
  return nullptr;
}

constexpr std::size_t kArguments = 4;

// The arguments of a METH_FASTCALL | METH_KEYWORDS function: None where one is not given.
bool take_arguments(PyObject* const* given, Py_ssize_t count, PyObject* keywords,
                    std::array<nb::handle, kArguments>& taken) {
  static constexpr const char* kNames[kArguments] = {"a", "b", "bias", "out"};
  if (count > static_cast<Py_ssize_t>(kArguments)) {
    PyErr_Format(PyExc_TypeError, "matmul() takes at most 4 arguments, not %zd", count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) taken[static_cast<std::size_t>(i)] = given[i];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GetItem(keywords, i);
    std::size_t at = 0;
    while (at < kArguments && PyUnicode_CompareWithASCIIString(name, kNames[at]) != 0) ++at;
    if (at == kArguments || taken[at].is_valid()) {
      PyErr_Format(PyExc_TypeError, "matmul() got %s '%U'",
                   at == kArguments ? "an unknown argument" : "two values for", name);
      return false;
    }
    taken[at] = given[count + i];
  }
  for (std::size_t i = 0; i < kArguments; ++i) {
    if (taken[i].is_valid()) continue;
    if (i < 2) {
      PyErr_Format(PyExc_TypeError, "matmul() needs the argument '%s'", kNames[i]);
      return false;
    }
    taken[i] = Py_None;
  }
  return true;
}

// A plain function of C, not nanobind's: it can be copied and pickled, which PyTorch's compiler
// does with the functions of its configuration.
PyObject* matmul_of_python(PyObject*, PyObject* const* given, Py_ssize_t count,
                           PyObject* keywords) {
  std::array<nb::handle, kArguments> taken;
  if (!take_arguments(given, count, keywords, taken)) return nullptr;
  return guarded([&] { return matmul(taken[0], taken[1], taken[2], taken[3]); });
}

constexpr const char* kMatmulText =
    "matmul(a, b, bias=None, out=None)\n--\n\n"
    "The product of a and b, plus bias, on the current stream of their library.\n\n"
    "a and b: arrays on one CUDA device, of float32, float16 or bfloat16; shapes as for\n"
    "numpy.matmul. bias: an element for each column. out: where the result goes; of 16-bit\n"
    "operands it may be float32. Returns out, or a new array of the operands' library.";

nb::dict fields_of(const gt_gemm_call& call) {
  nb::dict fields;
  fields["M"] = call.M;
  fields["N"] = call.N;
  fields["K"] = call.K;
  fields["batch"] = call.batch;
  fields["column_major"] = call.order == GT_COLUMN_MAJOR;
  fields["trans_a"] = call.trans_a == GT_TRANSPOSE;
  fields["trans_b"] = call.trans_b == GT_TRANSPOSE;
  fields["lda"] = call.lda;
  fields["ldb"] = call.ldb;
  fields["ldc"] = call.ldc;
  fields["stride_a"] = call.stride_a;
  fields["stride_b"] = call.stride_b;
  fields["stride_c"] = call.stride_c;
  fields["A"] = reinterpret_cast<std::uintptr_t>(call.A);
  fields["B"] = reinterpret_cast<std::uintptr_t>(call.B);
  fields["D"] = reinterpret_cast<std::uintptr_t>(call.D);
  fields["bias"] = reinterpret_cast<std::uintptr_t>(call.bias);
  fields["problem"] = problem_text(call);
  return fields;
}

// For tests and for figures of the host's time: all that matmul() does but gt_gemm, with arrays in
// any memory. The calls' fields.
nb::list calls_of(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  const Prepared prepared = prepare(a, b, bias, out, Memory::any);
  nb::list calls;
  if (!prepared.product->is_empty()) {
    prepared.product->for_each([&](const gt_gemm_call& call) { calls.append(fields_of(call)); });
  }
  return calls;
}

nb::object prepare_only(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  if (is_for_operator(a, b, bias, out)) raise("ArgumentError", "an operand requires grad");
  Prepared prepared = prepare(a, b, bias, out, Memory::any);
  return std::move(prepared.result);
}

// For figures of the host's time: gt_gemm's address, the handle, the stream and the call's bytes.
nb::tuple c_call_of(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  const Prepared prepared = prepare(a, b, bias, out, Memory::of_cuda);
  const gt_gemm_call& call = prepared.product->first();
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(&gt_gemm),
                        reinterpret_cast<std::uintptr_t>(handle()),
                        reinterpret_cast<std::uintptr_t>(prepared.stream),
                        nb::bytes(reinterpret_cast<const char*>(&call), sizeof call));
}

nb::dict fields_of(const gt_recipe& recipe) {
  nb::dict fields;
  fields["match"] = gt_match_string(recipe.match);
  fields["source"] = recipe.source == GT_SOURCE_NONE
                         ? nb::none()
                         : nb::object(nb::str(gt_source_string(recipe.source)));
  const bool has_kernel = recipe.match != GT_MATCH_NONE;
  fields["config"] = has_kernel ? nb::object(nb::str(recipe.config)) : nb::none();
  fields["explanation"] = recipe.explanation;
  fields["is_twin"] = recipe.is_twin != 0;
  fields["alignment"] = recipe.alignment;
  fields["block_threads"] = recipe.block_threads;
  fields["smem_bytes"] = recipe.smem_bytes;
  fields["grid"] = nb::make_tuple(recipe.grid[0], recipe.grid[1], recipe.grid[2]);
  fields["workspace_bytes"] = recipe.workspace_bytes;
  const auto known = [](double value) {
    return value == 0 ? nb::none() : nb::object(nb::float_(value));
  };
  fields["tuned_us"] = known(recipe.tuned_us);
  fields["baseline_us"] = known(recipe.baseline_us);
  fields["distance"] = known(recipe.distance);
  fields["expected_us"] = known(recipe.expected_us);
  fields["expected_within"] = known(recipe.expected_within);
  fields["cublas_us"] = known(recipe.cublas_us);
  return fields;
}

// The device that arch names; the current one without.
struct NamedDevice {
  std::optional<std::string> arch, name;
  gt_device device{};

  NamedDevice(std::optional<std::string> of_arch, std::optional<std::string> of_name, int sm_count)
      : arch(std::move(of_arch)), name(std::move(of_name)) {
    device = {text_or_null(arch), text_or_null(name), sm_count, {}};
  }
  const gt_device* get() const { return arch ? &device : nullptr; }
};

nb::dict lookup(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t batch, bool trans_a,
                bool trans_b, int type, int type_of_result, int alignment,
                std::optional<std::string> arch, std::optional<std::string> name, int sm_count) {
  const NamedDevice on(std::move(arch), std::move(name), sm_count);
  gt_problem problem = {};
  problem.M = M;
  problem.N = N;
  problem.K = K;
  problem.batch = batch;
  problem.trans_a = trans_a ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
  problem.trans_b = trans_b ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
  problem.alignment = alignment;
  problem.type_a = problem.type_b = static_cast<gt_type>(type);
  problem.type_c = problem.type_d = static_cast<gt_type>(type_of_result);
  gt_recipe recipe = {};
  check(gt_lookup(handle(), on.get(), &problem, &recipe));
  return fields_of(recipe);
}

nb::dict lookup_call(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  const Prepared prepared = prepare(a, b, bias, out, Memory::of_cuda);
  gt_handle* const with = handle();
  gt_recipe recipe = {};
  const OnDevice device(prepared.device);
  check(gt_lookup_call(with, nullptr, &prepared.product->first(), &recipe));
  return fields_of(recipe);
}

void look_for_cuda(const std::vector<std::string>& folders) {
  look_for_cuda_in(std::vector<std::filesystem::path>(folders.begin(), folders.end()));
}

}  // namespace
}  // namespace gemm_tune

NB_MODULE(_core, module) {
  using namespace gemm_tune;
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const ArgumentError& error) {
      PyErr_SetString(error_class("ArgumentError").ptr(), error.what());
    } catch (const DeviceError& error) {
      PyErr_SetString(error_class("DeviceError").ptr(), error.what());
    }
  });
  module.def("open", &open, "database"_a.none(), "kernel_cache"_a.none(), "policy"_a, "refine_ms"_a,
             "refined_choices"_a.none());
  module.def("reload", &reload);
  static PyMethodDef functions[] = {
      {"matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(matmul_of_python)),
       METH_FASTCALL | METH_KEYWORDS, kMatmulText},
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module.ptr(), functions) != 0) nb::raise_python_error();
  module.def("matmul_of_plain_tensors", &matmul_of_plain_tensors, "a"_a, "b"_a,
             "bias"_a = nb::none(), "out"_a = nb::none());
  module.def("lookup", &lookup, "M"_a, "N"_a, "K"_a, "batch"_a, "trans_a"_a, "trans_b"_a, "type"_a,
             "type_of_result"_a, "alignment"_a, "arch"_a.none(), "name"_a.none(), "sm_count"_a);
  module.def("lookup_call", &lookup_call, "a"_a, "b"_a, "bias"_a = nb::none(),
             "out"_a = nb::none());
  module.def("look_for_cuda_in", &look_for_cuda, "folders"_a);
  module.def(
      "set_recorder", [](nb::object record) { recorder() = std::move(record); }, "record"_a);
  module.def("count_captures", &count_captures, "change"_a);
  module.def("calls_of", &calls_of, "a"_a, "b"_a, "bias"_a = nb::none(), "out"_a = nb::none());
  module.def("prepare_only", &prepare_only, "a"_a, "b"_a, "bias"_a = nb::none(),
             "out"_a = nb::none());
  module.def("c_call_of", &c_call_of, "a"_a, "b"_a, "bias"_a = nb::none(), "out"_a = nb::none());
  module.attr("version") = gt_version();
}
