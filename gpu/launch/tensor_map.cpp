// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/error.h"
#include "gpu/driver.h"

namespace gemm_tune {
namespace {

// As cuda.h declares it; enumerations are int, 0 is success, and no interleave, no promotion and
// zeros outside.
using Encode = int(void* map, int element, unsigned dims, void* address,
                   const unsigned long long* size, const unsigned long long* stride_bytes,
                   const unsigned* box, const unsigned* element_strides, int interleave,
                   int swizzle, int promotion, int outside);

// Of CUtensorMapDataType.
int data_type(TensorElement element) {
  switch (element) {
    case TensorElement::bits_8:
      return 0;
    case TensorElement::bits_16:
      return 1;
    case TensorElement::bits_32:
      return 2;
    case TensorElement::tf32:
      return 11;
  }
  throw Error("a tensor's element outside the closed list");
}

std::string sizes(const BoundTensorMap& map) {
  std::string text;
  for (int i = 0; i < map.dims; ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(map.size[static_cast<std::size_t>(i)]);
  }
  return text;
}

}  // namespace

void encode_tensor_map(const BoundTensorMap& map, void* to) {
  if (map.address == 0) {
    std::memset(to, 0, kTensorMapBytes);
    return;
  }
  static Encode* const encode = driver_function<Encode>("cuTensorMapEncodeTiled", 12000);
  if (encode == nullptr) throw DeviceError("the driver has no tensor maps: use one for CUDA 12");
  unsigned long long size[kMostTensorDims], stride_bytes[kMostTensorDims - 1];
  unsigned box[kMostTensorDims], element_strides[kMostTensorDims];
  std::copy(map.size.begin(), map.size.end(), size);
  std::copy(map.stride_bytes.begin(), map.stride_bytes.end(), stride_bytes);
  std::copy(map.box.begin(), map.box.end(), box);
  std::fill(std::begin(element_strides), std::end(element_strides), 1u);
  const int status =
      encode(to, data_type(map.element), map.dims, reinterpret_cast<void*>(map.address), size,
             stride_bytes, box, element_strides, 0, static_cast<int>(map.swizzle),
             static_cast<int>(map.promotion), 0);
  if (status != 0) {
    throw DeviceError("the driver refuses a tensor map of " + sizes(map) +
                      " elements with status " + std::to_string(status));
  }
}

}  // namespace gemm_tune
