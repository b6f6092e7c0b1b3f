// SPDX-License-Identifier: Apache-2.0
#include "python/binding/product.h"

#include <algorithm>

namespace gemm_tune {
namespace {

int bytes_of(gt_type type) { return type == GT_F32 ? 4 : 2; }

const char* name_of(gt_type type) {
  return type == GT_F32 ? "float32" : type == GT_F16 ? "float16" : "bfloat16";
}

std::string tuple_text(const std::int64_t* values, int count) {
  std::string text = "(";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + (count == 1 ? ",)" : ")");
}

// A matrix of rows x columns elements.
struct Plane {
  std::int64_t rows, columns, row_stride, column_stride;
};

// The last two dimensions; a vector is a row, or a column.
Plane plane_of(const Array& array, bool vector_is_row) {
  const int last = array.dimensions - 1;
  if (array.dimensions == 1) {
    const std::int64_t size = array.shape[0], stride = array.strides[0];
    return vector_is_row ? Plane{1, size, 0, stride} : Plane{size, 1, stride, 0};
  }
  const auto i = static_cast<std::size_t>(last);
  return {array.shape[i - 1], array.shape[i], array.strides[i - 1], array.strides[i]};
}

int batch_dimensions(const Array& array) { return std::max(array.dimensions - 2, 0); }

// One of the shapes that gt_gemm takes: lines of elements one after another, a distance apart.
struct Lines {
  bool by_rows;
  std::int64_t ld;
};

bool takes_lines(std::int64_t lines, std::int64_t length, std::int64_t line_stride,
                 std::int64_t element_stride, std::int64_t* ld) {
  const std::int64_t least = std::max<std::int64_t>(length, 1);
  if (length > 1 && element_stride != 1) return false;
  if (lines > 1 && line_stride < least) return false;
  *ld = lines > 1 ? line_stride : std::max(line_stride, least);
  return true;
}

// By rows where both are possible, as packed matrices are tuned.
bool lines_of(const Plane& plane, Lines* lines) {
  if (plane.rows == 0 || plane.columns == 0) {
    *lines = {true, std::max<std::int64_t>(plane.columns, 1)};
    return true;
  }
  lines->by_rows = true;
  if (takes_lines(plane.rows, plane.columns, plane.row_stride, plane.column_stride, &lines->ld)) {
    return true;
  }
  lines->by_rows = false;
  return takes_lines(plane.columns, plane.rows, plane.column_stride, plane.row_stride, &lines->ld);
}

void check_matrix_shapes(const Array& a, const Array& b, const Plane& plane_a,
                         const Plane& plane_b) {
  if (plane_a.columns == plane_b.rows) return;
  throw ArgumentError(std::string("b has shape ") + shape_text(b) + " and a " + shape_text(a) +
                      ": b needs " + std::to_string(plane_a.columns) + " rows, as a has columns");
}

void check_dimensions(const Array& array) {
  if (array.dimensions < 1) {
    throw ArgumentError(std::string(array.name) + " is a single number: it must have a dimension");
  }
}

void check_types(const Array& a, const Array& b, const Array* bias, const Array& out) {
  if (a.type != b.type) {
    throw ArgumentError(std::string("b is ") + name_of(b.type) + " and a " + name_of(a.type) +
                        ": both must have one type");
  }
  if (out.type != a.type && out.type != GT_F32) {
    throw ArgumentError(std::string("out is ") + name_of(out.type) + ": it must be " +
                        name_of(a.type) + (a.type == GT_F32 ? "" : " or float32"));
  }
  if (bias != nullptr && bias->type != out.type) {
    throw ArgumentError(std::string("bias is ") + name_of(bias->type) + ": it must be " +
                        name_of(out.type) + ", as the result is");
  }
}

// Strides along the dimensions of the result's batch, 0 where the operand has one entry for all.
Extents broadcast_strides(const Array& array, int dimensions) {
  Extents strides{};
  const int own = batch_dimensions(array);
  for (int i = 0; i < own; ++i) {
    const auto from = static_cast<std::size_t>(i),
               to = static_cast<std::size_t>(dimensions - own + i);
    strides[to] = array.shape[from] == 1 ? 0 : array.strides[from];
  }
  return strides;
}

}  // namespace

std::string shape_text(const Array& array) {
  return tuple_text(array.shape.data(), array.dimensions);
}

ResultShape result_shape(const Array& a, const Array& b) {
  check_dimensions(a);
  check_dimensions(b);
  const Plane plane_a = plane_of(a, true), plane_b = plane_of(b, false);
  check_matrix_shapes(a, b, plane_a, plane_b);
  const int of_a = batch_dimensions(a), of_b = batch_dimensions(b), batch = std::max(of_a, of_b);
  ResultShape result;
  for (int i = 0; i < batch; ++i) {
    const auto size = [&](const Array& array, int own) {
      const int at = i - (batch - own);
      return at < 0 ? 1 : array.shape[static_cast<std::size_t>(at)];
    };
    const std::int64_t size_a = size(a, of_a), size_b = size(b, of_b);
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      throw ArgumentError(
          "b has shape " + shape_text(b) + " and a " + shape_text(a) +
          ": the dimensions before the last two must be equal, or 1 in one of them");
    }
    result.shape[static_cast<std::size_t>(i)] = size_a == 1 ? size_b : size_a;
  }
  result.dimensions = batch;
  const auto add = [&](std::int64_t size) {
    result.shape[static_cast<std::size_t>(result.dimensions++)] = size;
  };
  if (a.dimensions > 1) add(plane_a.rows);
  if (b.dimensions > 1) add(plane_b.columns);
  return result;
}

Product::Product(const Array& a, const Array& b, const Array* bias, const Array& out) {
  const ResultShape shape = result_shape(a, b);
  check_types(a, b, bias, out);
  const auto shape_end = shape.shape.begin() + shape.dimensions;
  if (out.dimensions != shape.dimensions ||
      !std::equal(shape.shape.begin(), shape_end, out.shape.begin())) {
    throw ArgumentError("out has shape " + shape_text(out) + ": it must be " +
                        tuple_text(shape.shape.data(), shape.dimensions));
  }
  const Plane plane_a = plane_of(a, true), plane_b = plane_of(b, false);
  call_.M = plane_a.rows;
  call_.N = plane_b.columns;
  call_.K = plane_a.columns;
  call_.type_a = call_.type_b = a.type;
  call_.type_c = call_.type_d = out.type;

  if (bias != nullptr) {
    if (bias->dimensions != 1 || bias->shape[0] != call_.N) {
      throw ArgumentError("bias has shape " + shape_text(*bias) + ": it must be (" +
                          std::to_string(call_.N) + ",), an element for each column of the result");
    }
    if (call_.N > 1 && bias->strides[0] != 1) throw NeedsCopy{bias};
    call_.epilogue = GT_EPILOGUE_BIAS;
    call_.bias = bias->data;
  }

  // A vector of the result lies along the matrix's other side.
  Plane plane_d{call_.M, call_.N, 0, 0};
  int own = out.dimensions;
  if (b.dimensions > 1) plane_d.column_stride = out.strides[static_cast<std::size_t>(--own)];
  if (a.dimensions > 1) plane_d.row_stride = out.strides[static_cast<std::size_t>(--own)];
  const int dimensions = own;
  for (int i = 0; i < shape.dimensions; ++i)
    is_empty_ |= shape.shape[static_cast<std::size_t>(i)] == 0;
  if (is_empty_) return;

  // The dimensions of the batch, those that are one for all three left out or put together.
  struct Loop {
    std::int64_t size;
    std::array<std::int64_t, 3> strides;  // of A, B and D
  };
  std::array<Loop, kMostDimensions> loops;
  std::size_t count = 0;
  const Extents strides_a = broadcast_strides(a, dimensions),
                strides_b = broadcast_strides(b, dimensions);
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    const Loop next{shape.shape[i], {strides_a[i], strides_b[i], out.strides[i]}};
    if (next.size == 1) continue;
    bool joins = count > 0;
    for (std::size_t of = 0; of < 3; ++of) {
      joins = joins && loops[count - 1].strides[of] == next.size * next.strides[of];
    }
    if (joins) {
      loops[count - 1] = {loops[count - 1].size * next.size, next.strides};
    } else {
      loops[count++] = next;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (loops[i].strides[2] <= 0) {
      throw ArgumentError("out has strides " + tuple_text(out.strides.data(), out.dimensions) +
                          ": its matrices overlap or lie backwards");
    }
    if (loops[i].strides[0] < 0) throw NeedsCopy{&a};
    if (loops[i].strides[1] < 0) throw NeedsCopy{&b};
  }

  Lines lines_a{}, lines_b{}, lines_d{};
  if (call_.K > 0 && !lines_of(plane_a, &lines_a)) throw NeedsCopy{&a};
  if (call_.K > 0 && !lines_of(plane_b, &lines_b)) throw NeedsCopy{&b};
  if (call_.K == 0) {
    lines_of({call_.M, 0, 0, 0}, &lines_a);
    lines_of({0, call_.N, 0, 0}, &lines_b);
  }
  if (!lines_of(plane_d, &lines_d)) {
    throw ArgumentError("out has strides " + tuple_text(out.strides.data(), out.dimensions) +
                        ": the elements of its rows or of its columns must lie one after another");
  }
  if (!lines_d.by_rows && bias != nullptr) {
    throw ArgumentError("out is stored by columns: with a bias it must be stored by rows");
  }

  // Matrices that share B and lie below one another are one matrix; where each is one row, the rows
  // may be any distance apart.
  if (count > 0 && lines_a.by_rows && lines_d.by_rows && loops[count - 1].strides[1] == 0) {
    const Loop& last = loops[count - 1];
    const auto lies_below = [&](std::int64_t stride, std::int64_t width, const Lines& lines) {
      return call_.M == 1 ? stride >= std::max<std::int64_t>(width, 1)
                          : stride == call_.M * lines.ld;
    };
    if (call_.K > 0 && lies_below(last.strides[0], call_.K, lines_a) &&
        lies_below(last.strides[2], call_.N, lines_d)) {
      if (call_.M == 1) {
        lines_a.ld = last.strides[0];
        lines_d.ld = last.strides[2];
      }
      call_.M *= last.size;
      --count;
    }
  }

  call_.order = lines_d.by_rows ? GT_ROW_MAJOR : GT_COLUMN_MAJOR;
  const auto transposes = [&](const Lines& lines) {
    return lines.by_rows == lines_d.by_rows ? GT_NO_TRANSPOSE : GT_TRANSPOSE;
  };
  call_.trans_a = transposes(lines_a);
  call_.trans_b = transposes(lines_b);
  // An operand without elements has no leading dimension of its own: by the width that is asked.
  if (call_.K == 0) {
    lines_a.ld = std::max<std::int64_t>(call_.M, 1);
    lines_b.ld = std::max<std::int64_t>(call_.N, 1);
  }
  call_.A = a.data;
  call_.B = b.data;
  call_.D = out.data;
  call_.lda = lines_a.ld;
  call_.ldb = lines_b.ld;
  call_.ldc = lines_d.ld;
  if (count > 0) {  // the longest is the batch, the others are loops
    const auto end = loops.begin() + static_cast<std::ptrdiff_t>(count);
    const auto longest = std::max_element(
        loops.begin(), end, [](const Loop& x, const Loop& y) { return x.size < y.size; });
    call_.batch = longest->size;
    call_.stride_a = longest->strides[0];
    call_.stride_b = longest->strides[1];
    call_.stride_c = longest->strides[2];
    for (auto loop = loops.begin(); loop != end; ++loop) {
      if (loop == longest) continue;
      const auto at = static_cast<std::size_t>(outer_dimensions_++);
      outer_sizes_[at] = loop->size;
      for (std::size_t of = 0; of < 3; ++of) {
        outer_bytes_[of][at] = loop->strides[of] * bytes_of(of == 2 ? out.type : a.type);
      }
    }
  }
}

void Product::for_each(const std::function<void(const gt_gemm_call&)>& launch) const {
  Extents index{};
  const auto outer = static_cast<std::size_t>(outer_dimensions_);
  for (;;) {
    gt_gemm_call call = call_;
    std::array<std::int64_t, 3> bytes{};
    for (std::size_t i = 0; i < outer; ++i) {
      for (std::size_t of = 0; of < 3; ++of) bytes[of] += index[i] * outer_bytes_[of][i];
    }
    if (call.A != nullptr) call.A = static_cast<const char*>(call.A) + bytes[0];
    if (call.B != nullptr) call.B = static_cast<const char*>(call.B) + bytes[1];
    call.D = static_cast<char*>(call.D) + bytes[2];
    launch(call);
    std::size_t i = outer;
    while (i > 0 && ++index[i - 1] == outer_sizes_[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace gemm_tune
