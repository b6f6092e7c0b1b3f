// SPDX-License-Identifier: Apache-2.0
#include "python/binding/prepared_matrix.h"

#include <cuda_runtime_api.h>
#include <nanobind/stl/string.h>

#include <string>

#include "python/binding/handle.h"
#include "python/binding/matmul.h"
#include "python/binding/on_device.h"
#include "python/binding/prepare.h"
#include "python/binding/product.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

// A product of b with a row, which may lie anywhere.
Product product_with(const Array& b) {
  if (b.dimensions != 2) {
    throw ArgumentError("b has shape " + shape_text(b) + ": it must be a matrix to be prepared");
  }
  Array row, out;
  row.name = "a";
  row.type = out.type = b.type;
  row.dimensions = out.dimensions = 1;
  row.shape[0] = b.shape[0];
  out.shape[0] = b.shape[1];
  row.strides[0] = out.strides[0] = 1;
  try {
    return {row, b, nullptr, out};
  } catch (const NeedsCopy&) {
    throw ArgumentError(
        "b has strides that need a copy: the elements of its rows or of its columns must lie one "
        "after another");
  }
}

}  // namespace

void PreparedMatrix::Release::operator()(gt_prepared* prepared) const {
  const nb::gil_scoped_release others_run;
  gt_release(prepared);
}

PreparedMatrix::PreparedMatrix(nb::handle b, nb::handle accuracy, Memory memory)
    : array_(nb::borrow(b)), accuracy_(nb::borrow(accuracy)), memory_(memory) {
  if (accuracy.is_none()) throw ArgumentError("accuracy must be a text, as 'fp32_f16x3'");
  renew();
}

void PreparedMatrix::renew() {
  const Operand b("b", array_, memory_);
  Product product = product_with(b.array);
  set_options(product, nb::none(), accuracy_);
  if (memory_ == Memory::any) return;
  auto* const stream = static_cast<CUstream_st*>(current_stream(b));
  gt_handle* const with = handle();
  gt_prepared* prepared = prepared_.get();
  gt_status status = GT_OK;
  {
    const nb::gil_scoped_release others_run;
    const OnDevice device(b.device);
    status = gt_prepare(with, stream, &product.first(), GT_OPERAND_B, &prepared);
    if (b.kind.way == Kind::Way::dlpack) cudaStreamSynchronize(stream);
  }
  check(status);
  if (prepared_ == nullptr) prepared_.reset(prepared);
}

RightOperand::RightOperand(nb::handle b, nb::handle accuracy) : array(b), accuracy(accuracy) {
  static const nb::handle type = nb::type<PreparedMatrix>();
  if (!b.type().is(type)) return;
  prepared = nb::inst_ptr<PreparedMatrix>(b);
  array = prepared->array();  // which it keeps alive
  if (accuracy.is_none()) this->accuracy = prepared->accuracy();
}

}  // namespace gemm_tune
