// SPDX-License-Identifier: Apache-2.0
// A call of one of cuBLAS's GEMM functions, and the call of gt_gemm that does the same.
//
// cuBLAS's functions differ in the width of their integers and in the types that they take;
// CublasCall holds the arguments of any of them. Enumerations are cuBLAS's numbers, since a program
// may pass any. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/problem/cublas_functions.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune::preload {

// The numbers of cublas_api.h and library_types.h that the drop-in knows.
inline constexpr int kSuccess = 0, kNotInitialized = 1;
inline constexpr int kOpN = 0, kOpT = 1, kOpC = 2;
inline constexpr int kPointersOnHost = 0;
inline constexpr int kDefaultMath = 0, kTensorOpMath = 1, kPedanticMath = 2, kTf32Math = 3;
inline constexpr int kFullReduction = 16;  // a flag beside the math modes
inline constexpr int kNoEpilogue = 1;
inline constexpr int kDefaultAlgorithm = -1, kDefaultTensorOpAlgorithm = 99;

struct CublasCall {
  CublasFunction function = CublasFunction::cublasSgemm;
  BatchKind batch_kind = BatchKind::strided;
  int op_a = kOpN, op_b = kOpN;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  const void* A = nullptr;
  int type_a = 0;  // a cudaDataType: 0 is fp32
  std::int64_t lda = 0, stride_a = 0;
  const void* B = nullptr;
  int type_b = 0;
  std::int64_t ldb = 0, stride_b = 0;
  const void* beta = nullptr;
  const void* input_c = nullptr;  // null: C, which the result takes the place of
  void* C = nullptr;
  int type_c = 0;
  std::int64_t ldc = 0, stride_c = 0;
  std::int64_t batch = 1;  // of groups: of all of them, as m, n and k are the largest of any
  int compute_type = 68;   // fp32
  int algorithm = kDefaultAlgorithm;
  int epilogue = kNoEpilogue;
  const void* bias = nullptr;
  const void* aux = nullptr;
  // The program's memory for the call, of functions that take such; -1: none is given.
  void* workspace = nullptr;
  std::int64_t workspace_bytes = -1;
};

// What a handle says of itself.
struct HandleState {
  CUstream_st* stream = nullptr;
  int pointer_mode = kPointersOnHost;
  int math_mode = kDefaultMath;
  int sm_count_target = 0;     // 0: none
  int emulation_strategy = 0;  // 0: the default, which emulates nothing unasked
  std::optional<int> device;   // that the handle was created for, where known
};

// The environment's variables that change the arithmetic of fp32 calls.
struct Arithmetic {
  gt_accuracy accuracy = GT_ACCURACY_FP32;  // GEMM_TUNE_BLAS_ACCURACY; not of pedantic calls
  bool never_tf32 = false;                  // NVIDIA_TF32_OVERRIDE is 0
  bool forced_tf32 = false;                 // NVIDIA_TF32_OVERRIDE is set to something else
  bool emulated = false;                    // CUBLAS_EMULATE_SINGLE_PRECISION is set, and not to 0
};

// Why a call is left to cuBLAS. `refused` is only said once cuBLAS itself has returned an error.
enum class Reason {
  refused,
  arguments,
  null_address,
  misaligned,
  overlap,
  mismatch,
  operand,
  empty,
  batch,
  groups,
  scalars,
  types,
  compute_type,
  algorithm,
  epilogue,
  descriptor,
  unreadable,
  math_mode,
  emulation,
  sm_count_target,
  handle,
  other_device,
  no_device,
  library,
  untuned,
  untimed,
  distant,
  slower,
  too_many_shapes,
  workspace,
  failed
};
inline constexpr int kReasons = static_cast<int>(Reason::failed) + 1;

// In words, without a full stop.
std::string_view to_string(Reason reason);

// Whether a call that was declined for this reason may be served once its shape has been tuned.
bool tuning_may_help(Reason reason);

// Reads alpha and beta, where they are on the host.
std::variant<gt_gemm_call, Reason> tuned_call(const CublasCall& call, const HandleState& state,
                                              const Arithmetic& arithmetic);

// Why gt_gemm calls the arguments of such a call invalid.
Reason why_invalid(const CublasCall& call);

// Why gt_gemm does not serve a call with this recipe, of GT_POLICY_TUNED_ONLY; nothing where it
// does: the kernel was timed on this device, at a problem at most `most_distance` away, and by the
// rule of GT_POLICY_BEST cuBLAS would not serve in its place, but for what that demands of
// specialisations, of which a recipe does not tell. That rule applies here also to calls that only
// the program's own cuBLAS can serve, as those with a bias.
std::optional<Reason> objection(const gt_recipe& recipe, double most_distance);

}  // namespace gemm_tune::preload
