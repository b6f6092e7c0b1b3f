// SPDX-License-Identifier: Apache-2.0
#include "python/binding/product.h"

#include <algorithm>

#include "core/text/printable.h"
#include "dispatch/c_values.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

std::string name_of(ElementType type) { return std::string(info_of(type).array_name); }

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

struct StoredLines {
  Lines a{}, b{}, d{};
};

// A dimension of the batch, or several that are one for A, B and D.
struct Loop {
  std::int64_t size;
  std::array<std::int64_t, 3> strides;  // of A, B and D
};

struct Loops {
  std::array<Loop, kMostDimensions> all;
  std::size_t count = 0;
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
  const Signature types{a.type, b.type, out.type, out.type, accuracy_of(a.type, b.type)};
  if (!is_served(types)) {
    throw ArgumentError("a is " + name_of(a.type) + ", b " + name_of(b.type) + " and out " +
                        name_of(out.type) + ": " + *why_unserved(types));
  }
  if (bias != nullptr && bias->type != out.type) {
    throw ArgumentError("bias is " + name_of(bias->type) + ": it must be " + name_of(out.type) +
                        ", as the result is");
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

void check_address(const Array& array) {
  const int bytes = bytes_of(array.type);
  if (reinterpret_cast<std::uintptr_t>(array.data) % static_cast<unsigned>(bytes) == 0) return;
  throw ArgumentError(std::string(array.name) + " is not aligned to " + std::to_string(bytes) +
                      " bytes, its elements' size");
}

void check_result_shape(const ResultShape& shape, const Array& out) {
  const auto end = shape.shape.begin() + shape.dimensions;
  if (out.dimensions == shape.dimensions && std::equal(shape.shape.begin(), end, out.shape.begin()))
    return;
  throw ArgumentError("out has shape " + shape_text(out) + ": it must be " +
                      tuple_text(shape.shape.data(), shape.dimensions));
}

void add_bias(const Array& bias, gt_gemm_call& call) {
  if (bias.dimensions != 1 || bias.shape[0] != call.N) {
    throw ArgumentError("bias has shape " + shape_text(bias) + ": it must be (" +
                        std::to_string(call.N) + ",), an element for each column of the result");
  }
  if (call.N > 1 && bias.strides[0] != 1) throw NeedsCopy{&bias};
  constexpr Epilogue kBias = *find_epilogue("bias_column");
  call.epilogue = kBias.bits();
  call.operands[0] = bias.data;
}

// Adds a dimension of the batch: nothing for one entry; a longer last loop where the dimension goes
// on where that begins anew.
void add(const Loop& next, Loops& loops) {
  if (next.size == 1) return;
  Loop* const last = loops.count > 0 ? &loops.all[loops.count - 1] : nullptr;
  bool joins = last != nullptr;
  for (std::size_t of = 0; joins && of < 3; ++of) {
    joins = last->strides[of] == next.size * next.strides[of];
  }
  if (joins) {
    *last = {last->size * next.size, next.strides};
  } else {
    loops.all[loops.count++] = next;
  }
}

// The dimensions of the result's batch.
Loops loops_of(const Array& a, const Array& b, const Array& out) {
  const int vectors = (a.dimensions == 1 ? 1 : 0) + (b.dimensions == 1 ? 1 : 0);
  const int dimensions = out.dimensions - 2 + vectors;
  const Extents strides_a = broadcast_strides(a, dimensions),
                strides_b = broadcast_strides(b, dimensions);
  Loops loops;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    add({out.shape[i], {strides_a[i], strides_b[i], out.strides[i]}}, loops);
  }
  for (std::size_t i = 0; i < loops.count; ++i) {
    const auto& strides = loops.all[i].strides;
    if (strides[2] <= 0) {
      throw ArgumentError("out has strides " + tuple_text(out.strides.data(), out.dimensions) +
                          ": its matrices overlap or lie backwards");
    }
    if (strides[0] < 0) throw NeedsCopy{&a};
    if (strides[1] < 0) throw NeedsCopy{&b};
  }
  return loops;
}

// The matrix of the result: what is a vector there lies along the matrix's other side.
Plane plane_of_result(const Array& a, const Array& b, const Array& out, std::int64_t M,
                      std::int64_t N) {
  Plane plane{M, N, 0, 0};
  auto next = static_cast<std::size_t>(out.dimensions);
  if (b.dimensions > 1) plane.column_stride = out.strides[--next];
  if (a.dimensions > 1) plane.row_stride = out.strides[--next];
  return plane;
}

StoredLines stored_lines(const Array& a, const Array& b, const Array& out) {
  Plane plane_a = plane_of(a, true), plane_b = plane_of(b, false);
  StoredLines lines;
  if (!lines_of(plane_a, &lines.a)) throw NeedsCopy{&a};
  if (!lines_of(plane_b, &lines.b)) throw NeedsCopy{&b};
  if (!lines_of(plane_of_result(a, b, out, plane_a.rows, plane_b.columns), &lines.d)) {
    throw ArgumentError("out has strides " + tuple_text(out.strides.data(), out.dimensions) +
                        ": the elements of its rows or of its columns must lie one after another");
  }
  return lines;
}

// Whether the matrices of the last loop are one matrix, because they share B and lie below one
// another. Where each is one row, the rows may be any distance apart.
bool joins_rows(const Loops& loops, const StoredLines& lines, const gt_gemm_call& call) {
  if (loops.count == 0 || call.K == 0 || !lines.a.by_rows || !lines.d.by_rows) return false;
  const auto& strides = loops.all[loops.count - 1].strides;
  const auto lies_below = [&](std::int64_t stride, std::int64_t width, const Lines& stored) {
    return call.M == 1 ? stride >= std::max<std::int64_t>(width, 1) : stride == call.M * stored.ld;
  };
  return strides[1] == 0 && lies_below(strides[0], call.K, lines.a) &&
         lies_below(strides[2], call.N, lines.d);
}

void set_storage(const StoredLines& lines, gt_gemm_call& call) {
  call.order = lines.d.by_rows ? GT_ROW_MAJOR : GT_COLUMN_MAJOR;
  const auto transposes = [&](const Lines& operand) {
    return operand.by_rows == lines.d.by_rows ? GT_NO_TRANSPOSE : GT_TRANSPOSE;
  };
  call.trans_a = transposes(lines.a);
  call.trans_b = transposes(lines.b);
  call.lda = lines.a.ld;
  call.ldb = lines.b.ld;
  call.ldc = lines.d.ld;
  if (call.K > 0) return;
  // Operands without elements have no leading dimension of their own: one that any storage allows.
  call.lda = std::max<std::int64_t>(call.M, 1);
  call.ldb = std::max<std::int64_t>(call.N, 1);
}

// The longest loop is the call's batch; returns the others. element_bytes: of A, B and D.
Product::Outer with_batch(const Loops& loops, const std::array<int, 3>& element_bytes,
                          gt_gemm_call& call) {
  Product::Outer outer;
  if (loops.count == 0) return outer;
  const auto end = loops.all.begin() + static_cast<std::ptrdiff_t>(loops.count);
  const auto longest = std::max_element(
      loops.all.begin(), end, [](const Loop& x, const Loop& y) { return x.size < y.size; });
  call.batch = longest->size;
  call.stride_a = longest->strides[0];
  call.stride_b = longest->strides[1];
  call.stride_c = longest->strides[2];
  for (auto loop = loops.all.begin(); loop != end; ++loop) {
    if (loop == longest) continue;
    outer.sizes[outer.count] = loop->size;
    for (std::size_t of = 0; of < 3; ++of) {
      outer.bytes[of][outer.count] = loop->strides[of] * element_bytes[of];
    }
    ++outer.count;
  }
  return outer;
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
  for (const Array* const array : {&a, &b, bias, &out}) {
    if (array != nullptr) check_address(*array);
  }
  check_result_shape(shape, out);
  const Plane plane_a = plane_of(a, true), plane_b = plane_of(b, false);
  call_.M = plane_a.rows;
  call_.N = plane_b.columns;
  call_.K = plane_a.columns;
  call_.type_a = c_type_of(a.type);
  call_.type_b = c_type_of(b.type);
  call_.type_c = call_.type_d = c_type_of(out.type);
  call_.A = a.data;
  call_.B = b.data;
  call_.D = out.data;
  if (bias != nullptr) add_bias(*bias, call_);
  const auto shape_end = shape.shape.begin() + shape.dimensions;
  is_empty_ = std::find(shape.shape.begin(), shape_end, 0) != shape_end;
  if (is_empty_) return;
  Loops loops = loops_of(a, b, out);
  StoredLines lines = stored_lines(a, b, out);
  if (!lines.d.by_rows && bias != nullptr) {
    throw ArgumentError("out is stored by columns: with a bias it must be stored by rows");
  }
  if (joins_rows(loops, lines, call_)) {
    const Loop& last = loops.all[--loops.count];
    if (call_.M == 1) {
      lines.a.ld = last.strides[0];
      lines.d.ld = last.strides[2];
    }
    call_.M *= last.size;
  }
  set_storage(lines, call_);
  outer_ = with_batch(loops, {bytes_of(a.type), bytes_of(b.type), bytes_of(out.type)}, call_);
}

void Product::add_activation(const std::string& name) {
  std::string known;
  for (int row = 0; row < kEpilogueFunctors; ++row) {
    if (kEpilogueTable[row].stage != Stage::activation) continue;
    known += (known.empty() ? "" : ", ") + std::string(kEpilogueTable[row].name);
    if (name != kEpilogueTable[row].name) continue;
    call_.epilogue |= 1U << row;
    return;
  }
  throw ArgumentError("activation is '" + excerpt(name) + "': it must be one of " + known);
}

void Product::set_accuracy(const std::string& name) {
  const ElementType a = element_type_of("a", call_.type_a), b = element_type_of("b", call_.type_b);
  const ElementType out = element_type_of("out", call_.type_d);
  const auto accuracy = accuracy_named(name);
  if (!accuracy || !has_class(a, b, *accuracy)) {
    std::string known;
    for (const AccuracyInfo& info : kAccuracyTable) {
      if (info.operands == kind_of_operands(a, b))
        known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    throw ArgumentError("accuracy is '" + excerpt(name) + "': it must be one of " + known);
  }
  if (const auto reason = why_unserved(Signature{a, b, out, out, *accuracy})) {
    throw ArgumentError("accuracy is '" + excerpt(name) + "': " + *reason);
  }
  call_.accuracy = c_accuracy_of(*accuracy);
}

void Product::set_prepared_b(const gt_prepared* prepared) {
  if (!is_one_call() || call_.batch > 1) {
    throw ArgumentError(
        "a is a batch beside a prepared b: its rows must lie evenly, as those of one matrix");
  }
  call_.prepared_b = prepared;
}

void Product::for_each(const std::function<void(const gt_gemm_call&)>& launch) const {
  Extents index{};
  for (;;) {
    gt_gemm_call call = call_;
    std::array<std::int64_t, 3> bytes{};
    for (std::size_t i = 0; i < outer_.count; ++i) {
      for (std::size_t of = 0; of < 3; ++of) bytes[of] += index[i] * outer_.bytes[of][i];
    }
    if (call.A != nullptr) call.A = static_cast<const char*>(call.A) + bytes[0];
    if (call.B != nullptr) call.B = static_cast<const char*>(call.B) + bytes[1];
    call.D = static_cast<char*>(call.D) + bytes[2];
    launch(call);
    std::size_t i = outer_.count;
    while (i > 0 && ++index[i - 1] == outer_.sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace gemm_tune
