// SPDX-License-Identifier: Apache-2.0
// A product of arrays, as Python's libraries shape them, as calls of gt_gemm.
//
// Shapes follow numpy.matmul: the last two dimensions are the matrices, those before them are
// broadcast, and an array of one dimension is a row on the left and a column on the right. No
// Python, no CUDA; pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "core/types/signature.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

inline constexpr int kMostDimensions = 16;
using Extents = std::array<std::int64_t, kMostDimensions>;

// An array on the device.
struct Array {
  const char* name = "";  // of the argument, for messages
  void* data = nullptr;
  ElementType type{};
  int dimensions = 0;
  Extents shape{}, strides{};  // strides in elements
};

// One sentence that names the argument.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An operand whose strides gt_gemm does not take, and that may be copied.
struct NeedsCopy {
  const Array* array;
};

// The result's shape.
struct ResultShape {
  int dimensions = 0;
  Extents shape{};
};

std::string shape_text(const Array& array);

// Throws ArgumentError where the shapes do not fit together.
ResultShape result_shape(const Array& a, const Array& b);

// A product as calls of gt_gemm.
class Product {
 public:
  // Dimensions of the batch that are loops around the calls.
  struct Outer {
    std::size_t count = 0;
    Extents sizes{};
    std::array<Extents, 3> bytes{};  // from one entry to the next, of A, B and D
  };

  // bias: may be nullptr. Throws ArgumentError, and NeedsCopy for a, b or bias.
  Product(const Array& a, const Array& b, const Array* bias, const Array& out);

  // Has the result go through an activation, behind the bias: a functor's name. Throws
  // ArgumentError.
  void add_activation(const std::string& name);

  // Has the products be of this accuracy class. Throws ArgumentError.
  void set_accuracy(const std::string& name);

  // Has the product take b as it was prepared. Throws ArgumentError where it is no product of one
  // matrix b by one matrix a.
  void set_prepared_b(const gt_prepared* prepared);

  // Whether the result has no elements.
  bool is_empty() const { return is_empty_; }

  // The first of them, and so the problem.
  const gt_gemm_call& first() const { return call_; }

  // Each in turn.
  void for_each(const std::function<void(const gt_gemm_call&)>& launch) const;

  // Whether first() is all of it.
  bool is_one_call() const { return outer_.count == 0; }

 private:
  gt_gemm_call call_ = GT_GEMM_CALL_INIT;
  bool is_empty_ = false;
  Outer outer_;
};

}  // namespace gemm_tune
