// SPDX-License-Identifier: Apache-2.0
// Arrays of Python's libraries as Array, and the stream that their library works on.
//
// A type with __dlpack_c_exchange_api__ (PyTorch 2.10 and later) is read without a Python call;
// older PyTorch by its attributes, CuPy and others by __cuda_array_interface__, the rest by
// __dlpack__. The caller holds the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "python/binding/dlpack.h"
#include "python/binding/product.h"

namespace gemm_tune {

// How arrays of a type are read.
struct Kind {
  enum class Library { torch, torch_subclass, cupy, other };
  enum class Way { exchange_api, torch_attributes, cuda_array_interface, dlpack };

  Library library;
  Way way;
  const dlpack::ExchangeApi* api;
};

// Which memory counts as that of a CUDA device: tests read arrays of the host.
enum class Memory { of_cuda, any };

// A tensor of PyTorch that cannot be read: one that a transformation (vmap) stands behind, or of a
// layout without strides. PyTorch's dispatcher finds the tensors that it is made of, or says why
// not.
class NoMemoryOfItsOwn : public std::runtime_error {
 public:
  NoMemoryOfItsOwn() : std::runtime_error("a tensor has no memory of its own") {}
};

// Holds what the array's description needs while it is in use.
struct Operand {
  Array array;
  Kind kind{};
  nanobind::handle object;
  int device = 0;
  void* stream = nullptr;  // that the array's own interface names, if any
  bool names_stream = false;
  nanobind::object owner;  // of the description

  // Throws ArgumentError. name: the argument's.
  Operand(const char* name, nanobind::handle object, Memory memory);
};

// How arrays of the object's type are read; remembered.
Kind kind_of(nanobind::handle object);

// The class of gemm_tune/_errors.py of this name.
nanobind::object error_class(const char* name);

}  // namespace gemm_tune
