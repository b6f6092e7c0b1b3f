// SPDX-License-Identifier: Apache-2.0
#include "python/binding/matmul.h"

#include <cuda_runtime_api.h>
#include <nanobind/stl/string.h>

#include <array>
#include <string>
#include <utility>

#include "core/error.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "python/binding/handle.h"
#include "python/binding/on_device.h"
#include "python/binding/operand.h"
#include "python/binding/prepare.h"
#include "python/binding/prepared_matrix.h"
#include "python/binding/problem_text.h"
#include "python/binding/product.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

// A call that notes each problem while a capture is open. Guarded by the GIL.
nb::object& recorder() {
  static auto* const only = new nb::object;
  return *only;
}

// Guarded by the GIL, and by no lock of Python's: the garbage collector may close a capture at any
// time, also while its thread opens another.
int open_captures = 0;

// The argument of this name. Throws ArgumentError.
std::string text_of(nb::handle argument, const char* name, const char* example) {
  if (!nb::isinstance<nb::str>(argument)) {
    throw ArgumentError(std::string(name) + " must be a text, as '" + example + "', or None");
  }
  return nb::cast<std::string>(argument);
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

nb::object multiply(nb::handle a, const RightOperand& b, nb::handle bias, nb::handle out,
                    nb::handle activation) {
  Prepared prepared = prepare(a, b.array, bias, out, Memory::of_cuda);
  set_options(*prepared.product, activation, b.accuracy);
  if (!prepared.product->is_empty()) {
    if (b.prepared != nullptr) prepared.product->set_prepared_b(b.prepared->get());
    if (open_captures > 0) note(*prepared.product);
    check(launch(handle(), prepared));
  }
  return std::move(prepared.result);
}

nb::object matmul(nb::handle a, nb::handle given_b, nb::handle bias, nb::handle out,
                  nb::handle activation, nb::handle accuracy) {
  const RightOperand b(given_b, accuracy);
  const auto by_torch = [&] {
    if (b.prepared != nullptr) {
      throw ArgumentError(
          "b is prepared where a tensor requires grad or is of a subclass: multiply within "
          "torch.no_grad(), or by the tensor itself");
    }
    if (!activation.is_none()) {
      throw ArgumentError(
          "activation is given where a tensor requires grad or is of a subclass: apply it apart");
    }
    if (!accuracy.is_none()) {
      throw ArgumentError(
          "accuracy is given where a tensor requires grad or is of a subclass: products there are "
          "fp32");
    }
    return by_operator(a, b.array, bias, out);
  };
  if (is_for_operator(a, b.array, bias, out)) return by_torch();
  try {
    return multiply(a, b, bias, out, activation);
  } catch (const NoMemoryOfItsOwn&) {
    return by_torch();
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
  } catch (const UsageError& raised) {
    error = "ArgumentError";
    sentence = raised.what();
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

constexpr std::size_t kArguments = 6;

// The arguments of a METH_FASTCALL | METH_KEYWORDS function: None where one is not given.
bool take_arguments(PyObject* const* given, Py_ssize_t count, PyObject* keywords,
                    std::array<nb::handle, kArguments>& taken) {
  static constexpr const char* kNames[kArguments] = {"a",   "b",          "bias",
                                                     "out", "activation", "accuracy"};
  if (count > static_cast<Py_ssize_t>(kArguments)) {
    PyErr_Format(PyExc_TypeError, "matmul() takes at most 6 arguments, not %zd", count);
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

}  // namespace

void set_options(Product& product, nb::handle activation, nb::handle accuracy) {
  if (!activation.is_none()) product.add_activation(text_of(activation, "activation", "relu"));
  if (!accuracy.is_none()) product.set_accuracy(text_of(accuracy, "accuracy", "fp32_f16x3"));
}

void set_recorder(nb::object record) { recorder() = std::move(record); }

int count_captures(int change) { return open_captures += change; }

nb::object matmul_of_plain_tensors(nb::handle a, nb::handle b, nb::handle bias, nb::handle out,
                                   nb::handle activation, nb::handle accuracy) {
  return multiply(a, RightOperand(b, accuracy), bias, out, activation);
}

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

PyObject* matmul_of_python(PyObject*, PyObject* const* given, Py_ssize_t count,
                           PyObject* keywords) {
  std::array<nb::handle, kArguments> taken;
  if (!take_arguments(given, count, keywords, taken)) return nullptr;
  return guarded(
      [&] { return matmul(taken[0], taken[1], taken[2], taken[3], taken[4], taken[5]); });
}

}  // namespace gemm_tune
