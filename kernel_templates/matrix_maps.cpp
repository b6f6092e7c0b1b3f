// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/matrix_maps.h"

#include <algorithm>

namespace gemm_tune {
namespace {

constexpr int kMapBytes = 16;  // of which addresses, leading dimensions and strides are multiples

TensorElement element_of_map(int bytes) {
  return bytes == 1   ? TensorElement::bits_8
         : bytes == 2 ? TensorElement::bits_16
                      : TensorElement::bits_32;
}

}  // namespace

TensorMapSlot matrices_map(CallValue address, const MatrixBoxes& boxes) {
  TensorMapSlot slot = {};
  slot.address = address;
  BoundTensorMap& map = slot.map;
  // No element is accessed where K is 0, but a map has one at least.
  map.size = {std::max<std::int64_t>(boxes.row_length, 1), std::max<std::int64_t>(boxes.rows, 1),
              boxes.batch};
  map.box = {boxes.box_length, boxes.box_rows, 1};
  map.dims = 3;
  map.element = element_of_map(boxes.element_bytes);
  map.swizzle = boxes.swizzled_bytes == 128  ? Swizzle::bytes_128
                : boxes.swizzled_bytes == 64 ? Swizzle::bytes_64
                : boxes.swizzled_bytes == 32 ? Swizzle::bytes_32
                                             : Swizzle::none;
  // Of packed rows; where they begin elsewhere, 256 bytes bring in what nobody reads.
  map.promotion = boxes.row_length * boxes.element_bytes % 256 == 0 ? L2Promotion::bytes_256
                                                                    : L2Promotion::bytes_128;
  map.stride_bytes[1] = kMapBytes;  // calls need not have a stride
  return slot;
}

void set_distances(TensorMapSlot& slot, CallValue ld, CallValue stride, int bytes) {
  slot.strides[0] = {ld, bytes};
  if (slot.map.size[2] > 1) slot.strides[1] = {stride, bytes};
}

}  // namespace gemm_tune
