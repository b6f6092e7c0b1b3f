// SPDX-License-Identifier: Apache-2.0
// The table of cuBLAS's functions that multiply: the only place that spells their names and
// parameters.
//
// A row holds what a function's parameters follow from, and the macros below write them. Its
// readers: the baseline and the reference (gpu/cuda_libraries/cublas.cpp), the drop-in
// (dispatch/preload/gemm_tune_blas.cpp), the look-up of baselines, the reader of cuBLAS's log, and
// the fakes of the tests. A test compares the rows with NVIDIA's header. cublasLtMatmul, whose
// parameters are opaque, has a name here and nothing else. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/problem/launch_problem.h"

// X(name, suffix, Scalar, type, batch, computing), a row a function:
//   suffix      of the exported name; that of the variant for 64-bit integers ends in _64
//   Scalar      of alpha and beta; void: it follows from the compute type
//   type        of all matrices; NAMED: an argument behind each matrix
//   batch       SINGLE; STRIDED; POINTERS, for arrays of addresses on the device; GROUPS, for such
//               arrays and, on the host, arrays of the groups' sizes
//   computing   F32 or F64; NAMED: the compute type and the algorithm are arguments; NAMED_TYPE:
//               the compute type alone
// Of one shape, which the drop-in takes over:
#define GT_CUBLAS_PLAIN_FUNCTIONS(X)                           \
  X(cublasSgemm, _v2, float, F32, SINGLE, F32)                 \
  X(cublasSgemmStridedBatched, , float, F32, STRIDED, F32)     \
  X(cublasSgemmBatched, , float, F32, POINTERS, F32)           \
  X(cublasSgemmEx, , float, NAMED, SINGLE, F32)                \
  X(cublasGemmEx, , void, NAMED, SINGLE, NAMED)                \
  X(cublasGemmStridedBatchedEx, , void, NAMED, STRIDED, NAMED) \
  X(cublasGemmBatchedEx, , void, NAMED, POINTERS, NAMED)
// Of reference results alone:
#define GT_CUBLAS_REFERENCE_FUNCTIONS(X)                    \
  X(cublasDgemm, _v2, double, F64, SINGLE, F64)             \
  X(cublasDgemmStridedBatched, , double, F64, STRIDED, F64) \
  X(cublasDgemmBatched, , double, F64, POINTERS, F64)
// Of groups, each of its own shape, which the drop-in takes over:
#define GT_CUBLAS_GROUPED_FUNCTIONS(X)                    \
  X(cublasSgemmGroupedBatched, , float, F32, GROUPS, F32) \
  X(cublasGemmGroupedBatchedEx, , void, NAMED, GROUPS, NAMED_TYPE)
// In the order of CublasFunction:
#define GT_CUBLAS_FUNCTIONS(X)     \
  GT_CUBLAS_PLAIN_FUNCTIONS(X)     \
  GT_CUBLAS_REFERENCE_FUNCTIONS(X) \
  GT_CUBLAS_GROUPED_FUNCTIONS(X)

// A row's list of parameters, "(void* handle, int op_a, ...)", with enumerations as int. Int: int,
// or std::int64_t in the variant for 64-bit integers.
#define GT_CUBLAS_PARAMETERS(Int, Scalar, type, batch, computing)                        \
  (void* handle, GT_OF_##batch(int) op_a, GT_OF_##batch(int) op_b, GT_OF_##batch(Int) m, \
   GT_OF_##batch(Int) n, GT_OF_##batch(Int) k, const Scalar* alpha,                      \
   const GT_ELEMENT_##type* GT_MATRIX_##batch A,                                         \
   GT_TYPE_PARAMETER_##type(a) GT_OF_##batch(Int) lda GT_STRIDE_PARAMETER_##batch(a),    \
   const GT_ELEMENT_##type* GT_MATRIX_##batch B,                                         \
   GT_TYPE_PARAMETER_##type(b) GT_OF_##batch(Int) ldb GT_STRIDE_PARAMETER_##batch(b),    \
   const Scalar* beta, GT_ELEMENT_##type* GT_MATRIX_##batch C,                           \
   GT_TYPE_PARAMETER_##type(c) GT_OF_##batch(Int) ldc GT_STRIDE_PARAMETER_##batch(c)     \
       GT_COUNT_PARAMETERS_##batch(Int) GT_COMPUTING_PARAMETERS_##computing)

// Their names in parentheses, for a call.
#define GT_CUBLAS_ARGUMENTS(type, batch, computing)                       \
  (handle, op_a, op_b, m, n, k, alpha, A,                                 \
   GT_TYPE_ARGUMENT_##type(a) lda GT_STRIDE_ARGUMENT_##batch(a), B,       \
   GT_TYPE_ARGUMENT_##type(b) ldb GT_STRIDE_ARGUMENT_##batch(b), beta, C, \
   GT_TYPE_ARGUMENT_##type(c) ldc GT_STRIDE_ARGUMENT_##batch(c)           \
       GT_COUNT_ARGUMENTS_##batch GT_COMPUTING_ARGUMENTS_##computing)

#define GT_OF_SINGLE(Int) Int
#define GT_OF_STRIDED(Int) Int
#define GT_OF_POINTERS(Int) Int
#define GT_OF_GROUPS(Int) const Int*
#define GT_MATRIX_SINGLE
#define GT_MATRIX_STRIDED
#define GT_MATRIX_POINTERS const*
#define GT_MATRIX_GROUPS const*
#define GT_ELEMENT_F32 float
#define GT_ELEMENT_F64 double
#define GT_ELEMENT_NAMED void
#define GT_TYPE_PARAMETER_F32(x)
#define GT_TYPE_PARAMETER_F64(x)
#define GT_TYPE_PARAMETER_NAMED(x) int type_##x,
#define GT_TYPE_ARGUMENT_F32(x)
#define GT_TYPE_ARGUMENT_F64(x)
#define GT_TYPE_ARGUMENT_NAMED(x) type_##x,
#define GT_STRIDE_PARAMETER_SINGLE(x)
#define GT_STRIDE_PARAMETER_STRIDED(x) , long long stride_##x
#define GT_STRIDE_PARAMETER_POINTERS(x)
#define GT_STRIDE_PARAMETER_GROUPS(x)
#define GT_STRIDE_ARGUMENT_SINGLE(x)
#define GT_STRIDE_ARGUMENT_STRIDED(x) , stride_##x
#define GT_STRIDE_ARGUMENT_POINTERS(x)
#define GT_STRIDE_ARGUMENT_GROUPS(x)
#define GT_COUNT_PARAMETERS_SINGLE(Int)
#define GT_COUNT_PARAMETERS_STRIDED(Int) , Int batch
#define GT_COUNT_PARAMETERS_POINTERS(Int) , Int batch
#define GT_COUNT_PARAMETERS_GROUPS(Int) , Int groups, const Int *batch
#define GT_COUNT_ARGUMENTS_SINGLE
#define GT_COUNT_ARGUMENTS_STRIDED , batch
#define GT_COUNT_ARGUMENTS_POINTERS , batch
#define GT_COUNT_ARGUMENTS_GROUPS , groups, batch
#define GT_COMPUTING_PARAMETERS_F32
#define GT_COMPUTING_PARAMETERS_F64
#define GT_COMPUTING_PARAMETERS_NAMED , int compute_type, int algorithm
#define GT_COMPUTING_PARAMETERS_NAMED_TYPE , int compute_type
#define GT_COMPUTING_ARGUMENTS_F32
#define GT_COMPUTING_ARGUMENTS_F64
#define GT_COMPUTING_ARGUMENTS_NAMED , compute_type, algorithm
#define GT_COMPUTING_ARGUMENTS_NAMED_TYPE , compute_type

namespace gemm_tune {

// Named as the functions, whose variants for 64-bit integers are not told apart.
enum class CublasFunction {
#define GT_ROW(name, suffix, Scalar, type, batch, computing) name,
  GT_CUBLAS_FUNCTIONS(GT_ROW)
#undef GT_ROW
      cublasLtMatmul
};

// How many products a function does, and how their matrices lie.
enum class CublasBatch { SINGLE, STRIDED, POINTERS, GROUPS };

constexpr BatchKind batch_kind_of(CublasBatch batch) {
  if (batch == CublasBatch::GROUPS) return BatchKind::groups;
  return batch == CublasBatch::POINTERS ? BatchKind::pointers : BatchKind::strided;
}

// What gives the matrices' types, or what sums are made in. NAMED: arguments.
enum class CublasType { F32, F64, NAMED, NAMED_TYPE };

struct CublasFunctionInfo {
  const char* name;  // "cublasSgemm"
  CublasType type;   // of all matrices
  CublasBatch batch;
  CublasType computing;
};

// In the order of CublasFunction.
inline constexpr CublasFunctionInfo kCublasFunctions[] = {
#define GT_ROW(name, suffix, Scalar, type, batch, computing) \
  {#name, CublasType::type, CublasBatch::batch, CublasType::computing},
    GT_CUBLAS_FUNCTIONS(GT_ROW)
#undef GT_ROW
        {"cublasLtMatmul", CublasType::NAMED, CublasBatch::STRIDED, CublasType::NAMED},
};

constexpr const CublasFunctionInfo& info_of(CublasFunction function) {
  return kCublasFunctions[static_cast<int>(function)];
}

// Without a suffix; nothing for other names.
constexpr std::optional<CublasFunction> cublas_function_named(std::string_view name) {
  int index = 0;
  for (const CublasFunctionInfo& one : kCublasFunctions) {
    if (name == one.name) return static_cast<CublasFunction>(index);
    ++index;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
