// SPDX-License-Identifier: Apache-2.0
// The module gemm_tune.lib._core: what Python sees of the other files of this folder.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/types/signature.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "gpu/cuda_libraries/cuda_folders.h"
#include "kernel_templates/registry/registry.h"
#include "python/binding/calls.h"
#include "python/binding/handle.h"
#include "python/binding/lookup.h"
#include "python/binding/matmul.h"
#include "python/binding/operand.h"
#include "python/binding/prepared_matrix.h"
#include "python/binding/product.h"

namespace nb = nanobind;

namespace gemm_tune {
namespace {

constexpr const char* kMatmulText =
    "matmul(a, b, bias=None, out=None, activation=None, accuracy=None)\n--\n\n"
    "The product of a and b, plus bias, on the current stream of their library.\n\n"
    "a and b: arrays on one CUDA device, of float32, float16 or bfloat16; shapes as for\n"
    "numpy.matmul. b may be a Prepared. bias: an element for each column. out: where the result "
    "goes; of 16-bit\n"
    "operands it may be float32. activation: what is applied behind the bias, as 'relu' or\n"
    "'gelu_tanh'. accuracy: the class of float32 products, as 'fp32_f16x3'; None: fp32.\n"
    "Returns out, or a new array of the operands' library.\n\n"
    "Raises ArgumentError; NoKernelError where no kernel can serve the problem; DeviceError\n"
    "without a GPU, driver or NVRTC, or where CUDA failed; DatabaseError where the database\n"
    "cannot be read.";

constexpr const char* kPrepareText =
    "The matrix b as a Prepared, for many products matmul(a, prepared) of an accuracy class.\n\n"
    "b: an array of float32 on a CUDA device, of shape (K, N), as for matmul(). accuracy: a class\n"
    "whose kernels prepare operands: 'fp32_f16x3' or 'fp32_bf16x6'. The work runs on the current\n"
    "stream of b's library. Raises ArgumentError, DeviceError, and NoKernelError on a device\n"
    "without such kernels.";

constexpr const char* kPreparedText =
    "A right operand of matmul() that prepare() has prepared: as many bytes on the device as the\n"
    "array has, of 'fp32_bf16x6' half as many again, freed with the object. It keeps the array\n"
    "alive, whose values must stay as they are until renew().";

constexpr const char* kRenewText =
    "Prepares the array again, whose values have changed, on the current stream. Products that "
    "are\n"
    "under way on other streams must have ended.";

// Of types that all matrices of a product may have: the libraries' name of each, and this
// project's.
std::map<std::string, std::string> types_with_kernels() {
  std::map<std::string, std::string> types;
  for (int i = 0; i < kMatrixTypes; ++i) {
    if (!is_served(signature_of(static_cast<ElementType>(i)))) continue;
    types.emplace(kTypeTable[i].array_name, kTypeTable[i].name);
  }
  return types;
}

void look_for_cuda(const std::vector<std::string>& folders) {
  look_for_cuda_in(std::vector<std::filesystem::path>(folders.begin(), folders.end()));
}

}  // namespace
}  // namespace gemm_tune

NB_MODULE(_core, module) {
  using namespace gemm_tune;
  using namespace nb::literals;
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const UsageError& error) {
      PyErr_SetString(error_class("ArgumentError").ptr(), error.what());
    } catch (const ArgumentError& error) {
      PyErr_SetString(error_class("ArgumentError").ptr(), error.what());
    } catch (const DeviceError& error) {
      PyErr_SetString(error_class("DeviceError").ptr(), error.what());
    }
  });
  module.def("open", &open, "database"_a.none(), "kernel_cache"_a.none(), "policy"_a, "refine_ms"_a,
             "refined_choices"_a.none());
  module.def("reload", &reload);
  module.def("load_family", &load_family_of, "file"_a);
  static PyMethodDef functions[] = {
      {"matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(matmul_of_python)),
       METH_FASTCALL | METH_KEYWORDS, kMatmulText},
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module.ptr(), functions) != 0) nb::raise_python_error();
  nb::class_<PreparedMatrix>(module, "Prepared", nb::is_final(), kPreparedText)
      .def("renew", &PreparedMatrix::renew, kRenewText)
      .def_prop_ro("array", &PreparedMatrix::array, "The array.")
      .def_prop_ro("accuracy", &PreparedMatrix::accuracy, "The accuracy class.");
  const auto prepared_in = [](Memory memory) {
    return [memory](nb::handle b, nb::handle accuracy) {
      return new PreparedMatrix(b, accuracy, memory);
    };
  };
  module.def("prepare", prepared_in(Memory::of_cuda), "b"_a, "accuracy"_a.none(), kPrepareText);
  module.def("prepare_nothing", prepared_in(Memory::any), "b"_a, "accuracy"_a.none());
  module.def("matmul_of_plain_tensors", &matmul_of_plain_tensors, "a"_a, "b"_a,
             "bias"_a = nb::none(), "out"_a = nb::none(), "activation"_a = nb::none(),
             "accuracy"_a = nb::none());
  module.def("lookup", &lookup, "problem"_a, "arch"_a.none(), "name"_a.none(), "sm_count"_a);
  module.def("lookup_call", &lookup_call, "a"_a, "b"_a, "bias"_a = nb::none(),
             "out"_a = nb::none());
  module.def("look_for_cuda_in", &look_for_cuda, "folders"_a);
  module.def("types", &types_with_kernels);
  module.def("set_recorder", &set_recorder, "record"_a);
  module.def("count_captures", &count_captures, "change"_a);
  module.def("calls_of", &calls_of, "a"_a, "b"_a, "bias"_a = nb::none(), "out"_a = nb::none(),
             "activation"_a = nb::none(), "accuracy"_a = nb::none());
  module.def("prepare_only", &prepare_only, "a"_a, "b"_a, "bias"_a = nb::none(),
             "out"_a = nb::none());
  module.def("c_call_of", &c_call_of, "a"_a, "b"_a, "bias"_a = nb::none(), "out"_a = nb::none());
  module.attr("version") = gt_version();
}
