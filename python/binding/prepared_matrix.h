// SPDX-License-Identifier: Apache-2.0
// gemm_tune.Prepared: a right operand of matmul(), prepared by gt_prepare for many products.
//
// The caller holds the GIL, which is released while the library works.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "python/binding/operand.h"

namespace gemm_tune {

class PreparedMatrix {
 public:
  // b: a matrix; accuracy: a text. Memory::any: nothing is prepared, for tests. Throws
  // ArgumentError, and raises the exceptions of gt_prepare.
  PreparedMatrix(nanobind::handle b, nanobind::handle accuracy, Memory memory);

  // Anew, on the current stream, since b's values have changed.
  void renew();

  nanobind::object array() const { return array_; }
  nanobind::object accuracy() const { return accuracy_; }
  const gt_prepared* get() const { return prepared_.get(); }

 private:
  struct Release {
    void operator()(gt_prepared* prepared) const;
  };

  nanobind::object array_, accuracy_;
  Memory memory_;
  std::unique_ptr<gt_prepared, Release> prepared_;
};

// What matmul() takes as b: an array, or one that is prepared, with its accuracy class unless
// another one is given.
struct RightOperand {
  nanobind::handle array, accuracy;
  const PreparedMatrix* prepared = nullptr;  // null: not prepared

  RightOperand(nanobind::handle b, nanobind::handle accuracy);
};

}  // namespace gemm_tune
