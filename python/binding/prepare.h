// SPDX-License-Identifier: Apache-2.0
// The arguments of matmul() as a product on a device and a stream.
//
// The caller holds the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <vector>

#include "python/binding/operand.h"
#include "python/binding/product.h"

namespace gemm_tune {

bool is_torch(const Kind& kind);

// That of the array's library.
void* current_stream(const Operand& of);

// The arguments of matmul(), read and fitted together.
struct Prepared {
  nanobind::object result;
  std::optional<Product> product;
  void* stream = nullptr;
  int device = 0;
  bool waits = false;  // an operand's memory may be used again once the call is over
  std::vector<nanobind::object>
      kept;  // until the launch: copies of operands, and who owns descriptions
};

// bias and out may be None. Throws ArgumentError; may raise exceptions of the operands' library.
Prepared prepare(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                 nanobind::handle out, Memory memory);

}  // namespace gemm_tune
