// SPDX-License-Identifier: Apache-2.0
// The table of element types: the only place that says what a type is.
//
// A type's number is its row. It is the same on the host, on the device
// (kernel_templates/device/element/element_type.cuh), in the C ABI (gt_type) and, by name, on disk.
// A type is listed even if no family has kernels of it. Exported headers contain the lines between
// the braces below unchanged, as those of core/launch/launch_arithmetic.h: C++17, no include.
// Values; any thread.
#pragma once

namespace gemm_tune {

// The type of a matrix's elements. f64: of reference results only.
enum class ElementType { f32, f16, bf16, e4m3, e5m2, s8, s32, f64 };

struct TypeInfo {
  const char* name;
  const char* array_name;  // NumPy's (with ml_dtypes) and PyTorch's
  const char* torch_name;  // PyTorch's in C++, which its logs have
  int bits;
  int significand_bits;   // of a number that is not subnormal, the leading one included; no sign
  int exponent_bits;      // 0: whole numbers
  const char* cuda_name;  // of cudaDataType, behind CUDA_
  int cuda_data_type;     // its number
  int dlpack_code;        // of DLDataTypeCode
};

// In the order of ElementType.
inline constexpr TypeInfo kTypeTable[] = {
    {"f32", "float32", "float", 32, 24, 8, "R_32F", 0, 2},
    {"f16", "float16", "Half", 16, 11, 5, "R_16F", 2, 2},
    {"bf16", "bfloat16", "BFloat16", 16, 8, 8, "R_16BF", 14, 4},
    {"e4m3", "float8_e4m3fn", "Float8_e4m3fn", 8, 4, 4, "R_8F_E4M3", 28, 10},
    {"e5m2", "float8_e5m2", "Float8_e5m2", 8, 3, 5, "R_8F_E5M2", 29, 12},
    {"s8", "int8", "Char", 8, 7, 0, "R_8I", 3, 0},
    {"s32", "int32", "Int", 32, 31, 0, "R_32I", 10, 0},
    {"f64", "float64", "double", 64, 53, 11, "R_64F", 1, 2},
};
// The first so many are those that a matrix of a product may have.
inline constexpr int kMatrixTypes = static_cast<int>(ElementType::f64);

// Kernels add up and scale in this type, and references in that one.
inline constexpr ElementType kSumType = ElementType::f32, kReferenceType = ElementType::f64;

constexpr const TypeInfo& info_of(ElementType type) { return kTypeTable[static_cast<int>(type)]; }
constexpr int bytes_of(ElementType type) { return info_of(type).bits / 8; }
constexpr bool is_floating(ElementType type) { return info_of(type).exponent_bits > 0; }

}  // namespace gemm_tune
