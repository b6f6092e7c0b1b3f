// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/cublas/cublas_call.h"

#include <algorithm>

#include "choose/most_of_cublas.h"
#include "dispatch/c_values.h"
#include "gpu/cuda_libraries/cublas_types.h"

namespace gemm_tune::preload {
namespace {

constexpr std::int64_t kMostBatch = 65535;  // of one launch; several could fail half-way

bool is_operation(int op) { return op == kOpN || op == kOpT || op == kOpC; }

// Of real matrices the conjugate transpose is the transpose.
gt_transpose transpose_of(int op) { return op == kOpN ? GT_NO_TRANSPOSE : GT_TRANSPOSE; }

std::optional<Reason> objection_to_arguments(const CublasCall& c) {
  if (c.batch_kind == BatchKind::groups) return Reason::groups;
  const bool sound = is_operation(c.op_a) && is_operation(c.op_b) && c.m >= 0 && c.n >= 0 &&
                     c.k >= 0 && c.batch >= 0 && c.lda >= 1 && c.ldb >= 1 && c.ldc >= 1;
  if (!sound) return Reason::arguments;
  if (c.m == 0 || c.n == 0 || c.k == 0 || c.batch == 0) return Reason::empty;
  // Whether cuBLAS takes a null address beside an alpha of 0 is its own to say.
  for (const void* const address : {c.alpha, c.beta, c.A, c.B, static_cast<const void*>(c.C)}) {
    if (address == nullptr) return Reason::null_address;
  }
  if (c.batch > kMostBatch) return Reason::batch;
  if (c.algorithm != kDefaultAlgorithm && c.algorithm != kDefaultTensorOpAlgorithm) {
    return Reason::algorithm;
  }
  if (!cublas_abi::lt_epilogue(c.epilogue)) return Reason::epilogue;
  return std::nullopt;
}

// fp32 as it is: cuBLAS is not asked for less, and not for more than a rounding in each step.
std::optional<Reason> objection_to_f32(const CublasCall& c, const HandleState& state,
                                       const Arithmetic& arithmetic) {
  if (c.compute_type != cublas_abi::kComputeF32 &&
      c.compute_type != cublas_abi::kPedanticComputeF32) {
    return Reason::compute_type;
  }
  const int mode = state.math_mode & ~kFullReduction;
  const bool is_tf32 = mode == kTf32Math && !arithmetic.never_tf32;
  const bool is_known = mode == kDefaultMath || mode == kPedanticMath || mode == kTf32Math;
  if (is_tf32 || arithmetic.forced_tf32 || !is_known) return Reason::math_mode;
  if (arithmetic.emulated || state.emulation_strategy != 0) return Reason::emulation;
  return std::nullopt;
}

bool is_pedantic(const CublasCall& c, const HandleState& state) {
  return c.compute_type == cublas_abi::kPedanticComputeF32 ||
         (state.math_mode & ~kFullReduction) == kPedanticMath;
}

// Tensor cores with sums in fp32, which the pedantic modes rule out. The modes for fp32 operands do
// not concern these.
std::optional<Reason> objection_to_narrow(const CublasCall& c, const HandleState& state) {
  if (c.compute_type != cublas_abi::kComputeF32) return Reason::compute_type;
  const int mode = state.math_mode & ~kFullReduction;
  const bool allowed = mode == kDefaultMath || mode == kTensorOpMath || mode == kTf32Math;
  return allowed ? std::nullopt : std::optional(Reason::math_mode);
}

}  // namespace

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::refused:
      return "an error that cuBLAS returned";
    case Reason::arguments:
      return "a size, leading dimension, stride or operation out of its range";
    case Reason::null_address:
      return "an address that is NULL";
    case Reason::misaligned:
      return "an address that is no multiple of its element's size";
    case Reason::overlap:
      return "results of a batch that overlap";
    case Reason::mismatch:
      return "sizes of the matrices that do not fit together";
    case Reason::operand:
      return "addresses of a bias or an auxiliary output that do not fit the epilogue";
    case Reason::empty:
      return "nothing to multiply";
    case Reason::batch:
      return "a batch above 65535";
    case Reason::groups:
      return "several groups, which cuBLAS multiplies in one launch";
    case Reason::scalars:
      return "alpha and beta on the device";
    case Reason::types:
      return "types without kernels";
    case Reason::compute_type:
      return "a compute type other than fp32";
    case Reason::algorithm:
      return "a named algorithm";
    case Reason::epilogue:
      return "an epilogue without kernels";
    case Reason::descriptor:
      return "a descriptor with other settings";
    case Reason::unreadable:
      return "descriptors that cannot be read";
    case Reason::math_mode:
      return "a math mode for other arithmetic";
    case Reason::emulation:
      return "emulated fp32";
    case Reason::sm_count_target:
      return "an SM count target";
    case Reason::handle:
      return "a handle whose state cannot be read";
    case Reason::other_device:
      return "a handle of another device than the current one";
    case Reason::no_device:
      return "no current CUDA device";
    case Reason::library:
      return "the library or its database is unusable";
    case Reason::untuned:
      return "nothing tuned fits";
    case Reason::untimed:
      return "the winner was not timed beside cuBLAS on this device";
    case Reason::distant:
      return "the nearest tuned size is too far away";
    case Reason::slower:
      return "cuBLAS was faster";
    case Reason::too_many_shapes:
      return "too many different shapes";
    case Reason::workspace:
      return "a captured call with too little workspace for its winner";
    case Reason::failed:
      return "an error of gemm-tune's library";
  }
  return "unknown";
}

bool tuning_may_help(Reason reason) {
  return reason == Reason::library || reason == Reason::untuned || reason == Reason::untimed ||
         reason == Reason::distant || reason == Reason::slower || reason == Reason::failed;
}

std::variant<gt_gemm_call, Reason> tuned_call(const CublasCall& c, const HandleState& state,
                                              const Arithmetic& arithmetic) {
  if (const auto reason = objection_to_arguments(c)) return *reason;
  if (state.pointer_mode != kPointersOnHost) return Reason::scalars;
  if (state.sm_count_target != 0) return Reason::sm_count_target;
  const auto a = cublas_abi::element_type(c.type_a), b = cublas_abi::element_type(c.type_b),
             d = cublas_abi::element_type(c.type_c);
  const bool are_known = a && b && d;
  if (!are_known || !cublas_abi::has_function({*a, *b, *d, *d, accuracy_of(*a, *b)})) {
    return Reason::types;
  }
  const auto reason = kind_of_operand(*a) == OperandKind::f32
                          ? objection_to_f32(c, state, arithmetic)
                          : objection_to_narrow(c, state);
  if (reason) return *reason;
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.order = GT_COLUMN_MAJOR;
  call.trans_a = transpose_of(c.op_a);
  call.trans_b = transpose_of(c.op_b);
  call.type_a = c_type_of(*a);
  call.type_b = c_type_of(*b);
  call.type_c = call.type_d = c_type_of(*d);
  if (kind_of_operand(*a) == OperandKind::f32 && !is_pedantic(c, state)) {
    call.accuracy = arithmetic.accuracy;
  }
  call.M = c.m;
  call.N = c.n;
  call.K = c.k;
  call.batch = c.batch;
  call.batch_kind = c.batch_kind == BatchKind::pointers ? GT_POINTERS : GT_STRIDED;
  call.alpha = *static_cast<const float*>(c.alpha);
  call.beta = *static_cast<const float*>(c.beta);
  call.A = c.A;
  call.B = c.B;
  call.C = c.input_c != nullptr ? c.input_c : c.C;
  call.D = c.C;
  call.lda = c.lda;
  call.ldb = c.ldb;
  call.ldc = c.ldc;
  call.stride_a = c.stride_a;
  call.stride_b = c.stride_b;
  call.stride_c = c.stride_c;
  const Epilogue epilogue = *cublas_abi::lt_epilogue(c.epilogue);
  call.epilogue = epilogue.bits();
  epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot < 0) return;
    call.operands[slot] = functor.stage == Stage::bias ? c.bias : c.aux;
  });
  call.workspace = c.workspace;
  call.workspace_bytes = c.workspace_bytes;
  return call;
}

Reason why_invalid(const CublasCall& c) {
  const auto is_aligned = [](const void* address, int data_type) {
    const auto type = cublas_abi::element_type(data_type);
    const auto bytes = static_cast<std::uintptr_t>(type ? bytes_of(*type) : 1);
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
  };
  const bool is_strided = c.batch_kind == BatchKind::strided;
  const bool are_aligned = is_aligned(c.A, c.type_a) && is_aligned(c.B, c.type_b) &&
                           is_aligned(c.C, c.type_c) && is_aligned(c.input_c, c.type_c) &&
                           is_aligned(c.bias, c.type_c) && is_aligned(c.aux, c.type_c);
  if (is_strided && !are_aligned) return Reason::misaligned;
  const std::int64_t sizes[] = {c.m, c.n, c.k}, strides[] = {c.stride_a, c.stride_b, c.stride_c};
  const bool are_in_range =
      std::all_of(std::begin(sizes), std::end(sizes), [](auto size) { return size <= kMaxEdge; }) &&
      std::all_of(std::begin(strides), std::end(strides), [](auto one) { return one >= 0; }) &&
      c.lda >= (c.op_a == kOpN ? c.m : c.k) && c.ldb >= (c.op_b == kOpN ? c.k : c.n) &&
      c.ldc >= c.m;
  return are_in_range && is_strided && c.batch > 1 ? Reason::overlap : Reason::arguments;
}

std::optional<Reason> objection(const gt_recipe& recipe, double most_distance) {
  const bool is_exact = recipe.match == GT_MATCH_EXACT;
  if (!is_exact && recipe.match != GT_MATCH_NEAREST) return Reason::untuned;
  if (recipe.tuned_us <= 0 || recipe.baseline_us <= 0) return Reason::untimed;
  if (recipe.distance > most_distance) return Reason::distant;
  const bool is_expected = recipe.expected_us > 0 && recipe.cublas_us > 0;
  const double most = is_exact ? 1 : most_of_cublas(recipe.distance);
  if (is_expected && recipe.expected_us > most * recipe.cublas_us) return Reason::slower;
  // Of this very problem the faster of cuBLAS and cublasLt's best counts; of others too, where
  // nothing is expected.
  const bool was_slower = (is_exact || !is_expected) && recipe.tuned_us > recipe.baseline_us;
  return was_slower ? std::optional(Reason::slower) : std::nullopt;
}

}  // namespace gemm_tune::preload
