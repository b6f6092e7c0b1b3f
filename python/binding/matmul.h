// SPDX-License-Identifier: Apache-2.0
// matmul() for Python, and the recorder of its problems.
//
// Everything that a call with out needs is C++, since a Python frame costs as much as the whole of
// gt_gemm on the host. The caller holds the GIL, which is released while the library works.
#pragma once

#include <nanobind/nanobind.h>

namespace gemm_tune {

class Product;

// Has the product be as matmul()'s last arguments say, each a text or None. Throws ArgumentError.
void set_options(Product& product, nanobind::handle activation, nanobind::handle accuracy);

// What notes each problem while a capture is open.
void set_recorder(nanobind::object record);

// How many captures are open once there are `change` more.
int count_captures(int change);

// Without autograd's part: what the operator for PyTorch calls.
nanobind::object matmul_of_plain_tensors(nanobind::handle a, nanobind::handle b,
                                         nanobind::handle bias, nanobind::handle out,
                                         nanobind::handle activation, nanobind::handle accuracy);

// Whether the call is autograd's, or of a subclass that has its own idea of a product.
bool is_for_operator(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                     nanobind::handle out);

// A METH_FASTCALL | METH_KEYWORDS function. A plain function of C, not nanobind's: it can be copied
// and pickled, which PyTorch's compiler does with the functions of its configuration.
PyObject* matmul_of_python(PyObject* self, PyObject* const* given, Py_ssize_t count,
                           PyObject* keywords);

}  // namespace gemm_tune
