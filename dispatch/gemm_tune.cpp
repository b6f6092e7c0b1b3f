// SPDX-License-Identifier: Apache-2.0
// The C interface: arguments in, exceptions to statuses. What is done is in dispatcher.cpp.
#include "dispatch/include/gemm_tune/gemm_tune.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/printable.h"
#include "db/layers.h"
#include "dispatch/c_values.h"
#include "dispatch/dispatcher.h"
#include "dispatch/recipe.h"
#include "gpu/cuda_folders.h"

struct gt_handle {
  gemm_tune::Dispatcher dispatcher;
};

namespace gemm_tune {
namespace {

// The layout is the binary interface.
static_assert(sizeof(gt_device) == 32 && sizeof(gt_problem) == 72 && sizeof(gt_recipe) == 872 &&
              sizeof(gt_gemm_call) == 184);

// Of the thread; a fixed array, since reporting an error must not fail.
thread_local char last_error[1024] = "";

gt_status failed(gt_status status, const char* message) {
  copy_text(last_error, sizeof last_error, message);
  return status;
}

// Runs the body; the one place where an exception becomes a status.
template <class Body>
gt_status guarded(const Body& body) noexcept {
  try {
    body();
    return GT_OK;
  } catch (const UsageError& error) {
    return failed(GT_INVALID_ARGUMENT, error.what());
  } catch (const DatabaseError& error) {
    return failed(GT_DATABASE_ERROR, error.what());
  } catch (const DeviceError& error) {
    return failed(GT_DEVICE_ERROR, error.what());
  } catch (const NoKernelError& error) {
    return failed(GT_NO_KERNEL, error.what());
  } catch (const std::bad_alloc&) {
    return failed(GT_INTERNAL_ERROR, "the host's memory is exhausted");
  } catch (const std::exception& error) {
    return failed(GT_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(GT_INTERNAL_ERROR, "unknown failure");
  }
}

template <class T>
const T& required(const T* pointer, const char* name) {
  if (pointer == nullptr) throw UsageError(std::string(name) + " is NULL");
  return *pointer;
}

template <class T, std::size_t N>
void check_reserved(const T (&reserved)[N], const char* owner) {
  if (std::any_of(reserved, reserved + N, [](T value) { return value != 0; })) {
    throw UsageError(std::string(owner) +
                     ".reserved is not 0: zero the struct before setting fields");
  }
}

DeviceName device_name_of(const gt_device* device, const Dispatcher& dispatcher) {
  if (device == nullptr) return dispatcher.current_device_name();
  check_reserved(device->reserved, "device");
  const std::string_view arch = &required(device->arch, "device.arch");
  constexpr std::size_t kMostDigits = 4, kLongestName = 255;
  const std::string_view digits = arch.substr(std::min<std::size_t>(3, arch.size()));
  const bool is_arch =
      arch.starts_with("sm_") && !digits.empty() && digits.size() <= kMostDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_arch) {
    throw UsageError("device.arch is '" + excerpt(arch) + "': write it as in sm_90");
  }
  if (device->name != nullptr && std::strlen(device->name) > kLongestName) {
    throw UsageError("device.name is longer than 255 bytes: write it as the driver reports it");
  }
  if (device->sm_count < 0) throw UsageError("device.sm_count is negative");
  return {arch, device->name == nullptr ? "" : device->name, device->sm_count};
}

void check_edge(const char* name, std::int64_t size, std::int64_t least) {
  if (size < least || size > kMaxEdge) {
    throw UsageError(std::string("problem.") + name + " is " + std::to_string(size) +
                     ": it must be " + std::to_string(least) + " to " + std::to_string(kMaxEdge));
  }
}

Epilogue epilogue_of(gt_epilogue value) {
  switch (value) {
    case GT_EPILOGUE_NONE:
      return Epilogue::none;
    case GT_EPILOGUE_BIAS:
      return Epilogue::bias;
    case GT_EPILOGUE_BIAS_RELU:
      return Epilogue::bias_relu;
    case GT_EPILOGUE_MAX:
      break;
  }
  throw UsageError("call.epilogue is " + std::to_string(static_cast<int>(value)) +
                   ": it must be GT_EPILOGUE_NONE, GT_EPILOGUE_BIAS or GT_EPILOGUE_BIAS_RELU");
}

// typed: a gt_problem or a gt_gemm_call; owner: its name in messages.
template <class T>
Signature signature_of(const T& typed, const char* owner) {
  Signature types;
  types.a = element_type_of(owner, "type_a", typed.type_a);
  types.b = element_type_of(owner, "type_b", typed.type_b);
  types.c = element_type_of(owner, "type_c", typed.type_c);
  types.d = element_type_of(owner, "type_d", typed.type_d);
  types.accuracy = signature_of(types.a).accuracy;
  if (is_offered(types)) return types;
  throw UsageError(std::string(owner) + "'s types are " + to_string(types) +
                   ": A and B must have one type, and C and D that type or f32");
}

Problem problem_of(const gt_problem& asked) {
  check_reserved(asked.reserved, "problem");
  check_edge("M", asked.M, 1);
  check_edge("N", asked.N, 1);
  check_edge("K", asked.K, 0);
  if (asked.batch < 0 || asked.batch > kMaxBatch) {
    throw UsageError("problem.batch is " + std::to_string(asked.batch) + ": it must be 1 to " +
                     std::to_string(kMaxBatch) +
                     ", or 0 for 1; gt_gemm and gt_sgemm_strided_batched split larger ones");
  }
  const Signature signature = signature_of(asked, "problem");
  const Order order = order_of("problem.order", asked.order);
  const bool transposed_a = transposes("problem.trans_a", asked.trans_a);
  const bool transposed_b = transposes("problem.trans_b", asked.trans_b);
  GemmCall call;
  call.problem = packed_problem(asked.M, asked.N, asked.K, layout_of(transposed_a, transposed_b),
                                std::max<std::int64_t>(asked.batch, 1), signature);
  const Problem turned = in_row_major(call, order).problem;
  Problem problem =
      packed_problem(turned.M, turned.N, turned.K, turned.layout, turned.batch, signature);
  if (asked.alignment == 0) return problem;
  const int widest = kWidestAccessBytes / bytes_of(signature.a);
  const bool is_power = asked.alignment > 0 && (asked.alignment & (asked.alignment - 1)) == 0;
  if (!is_power || asked.alignment > widest) {
    throw UsageError("problem.alignment is " + std::to_string(asked.alignment) +
                     (widest == 4 ? ": it must be 1, 2 or 4" : ": it must be 1, 2, 4 or 8") +
                     ", or 0 for packed matrices");
  }
  problem.alignment = uniform_alignment(problem.signature, asked.alignment);
  return problem;
}

// What is told of a struct that begins with its size.
struct SizedStruct {
  const char *name, *type, *init;
  std::uint64_t least;  // of its first version
};

// The caller's struct as this version's; `fields` holds what it lacks. The struct of an earlier
// version is shorter and lacks the last fields; that of a later one is longer, and its further
// fields must be 0.
template <class T>
T known_fields(const T* given, T fields, const SizedStruct& about) {
  const std::uint64_t size = required(given, about.name).size;
  constexpr std::uint64_t kMost = 4096;
  if (size < about.least || size > kMost) {
    throw UsageError(std::string(about.name) + ".size is " + std::to_string(size) +
                     ": set it to sizeof(" + about.type + "), as " + about.init + " does");
  }
  const char* const bytes = reinterpret_cast<const char*>(given);
  const std::uint64_t known = std::min<std::uint64_t>(size, sizeof(T));
  if (std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; })) {
    throw UsageError(std::string(about.name) +
                     " has fields that version " GT_VERSION
                     " of the library does not know: leave them 0, or use a later library");
  }
  std::memcpy(&fields, given, known);
  return fields;
}

gt_gemm_call known_fields(const gt_gemm_call* call) {
  const gt_gemm_call fields = known_fields<gt_gemm_call>(
      call, GT_GEMM_CALL_INIT,
      {"call", "gt_gemm_call", "GT_GEMM_CALL_INIT", offsetof(gt_gemm_call, epilogue)});
  if (fields.reserved != 0 || fields.reserved2 != 0) {
    throw UsageError(std::string("call.reserved") + (fields.reserved != 0 ? "" : "2") +
                     " is not 0: begin with GT_GEMM_CALL_INIT");
  }
  return fields;
}

Policy policy_of(gt_policy value) {
  switch (value) {
    case GT_POLICY_BEST:
      return Policy::best;
    case GT_POLICY_TUNED_ONLY:
      return Policy::tuned_only;
    case GT_POLICY_DETERMINISTIC:
      return Policy::deterministic;
    case GT_POLICY_MAX:
      break;
  }
  throw UsageError("options.policy is " + std::to_string(static_cast<int>(value)) +
                   ": it must be GT_POLICY_BEST, GT_POLICY_TUNED_ONLY or GT_POLICY_DETERMINISTIC");
}

Dispatcher::Settings settings_of(const gt_options* options) {
  const gt_options asked = known_fields<gt_options>(
      options, GT_OPTIONS_INIT, {"options", "gt_options", "GT_OPTIONS_INIT", sizeof(gt_options)});
  if (asked.reserved != 0) {
    throw UsageError("options.reserved is not 0: begin with GT_OPTIONS_INIT");
  }
  const bool all_default = asked.database_path == nullptr && asked.kernel_cache == nullptr;
  Dispatcher::Settings settings;
  settings.policy = policy_of(asked.policy);
  constexpr double kMostMs = 60'000;
  if (!(asked.refine_ms >= 0 && asked.refine_ms <= kMostMs)) {
    throw UsageError("options.refine_ms is " + std::to_string(asked.refine_ms) +
                     ": it must be 0 to 60000 milliseconds");
  }
  settings.refine_ms = asked.refine_ms;
  if (asked.refined_choices != nullptr) settings.refined_choices = asked.refined_choices;
  if (asked.database_path == nullptr) {
    look_for_cuda_in_environment();
    settings.layer_folders = default_layer_folders();
    settings.database = default_database_path_or_none();
    const bool has_place = !settings.database.empty();
    if (!has_place && layer_files(settings.layer_folders).empty())
      default_database_path();  // throws
  } else {
    settings.database = asked.database_path;
  }
  if (asked.kernel_cache != nullptr) settings.kernel_cache = asked.kernel_cache;
  if (all_default) {
    settings.kernel_cache = default_kernel_cache();
    settings.cache_need = CacheNeed::optional;
  }
  return settings;
}

// As it is stored: in its own order.
GemmCall gemm_call_of(const gt_gemm_call& asked) {
  GemmCall call;
  Problem& problem = call.problem;
  problem.signature = signature_of(asked, "call");
  problem.M = asked.M;
  problem.N = asked.N;
  problem.K = asked.K;
  problem.layout = layout_of(transposes("call.trans_a", asked.trans_a),
                             transposes("call.trans_b", asked.trans_b));
  problem.batch = asked.batch;
  call.alpha = asked.alpha;
  call.beta = asked.beta;
  call.A = asked.A;
  call.B = asked.B;
  call.C = asked.C;
  call.D = asked.D;
  call.lda = asked.lda;
  call.ldb = asked.ldb;
  call.ldc = asked.ldc;
  call.stride_a = asked.stride_a;
  call.stride_b = asked.stride_b;
  call.stride_c = asked.stride_c;
  call.epilogue = epilogue_of(asked.epilogue);
  call.bias = asked.bias;
  return call;
}

GemmCall checked_row_major(const gt_gemm_call* call) {
  const gt_gemm_call asked = known_fields(call);
  const Order order = order_of("call.order", asked.order);
  const GemmCall checked = gemm_call_of(asked);
  check(checked, order, "D");
  return in_row_major(checked, order);
}

}  // namespace
}  // namespace gemm_tune

using namespace gemm_tune;  // of this file's entry points, which C requires to be global

gt_status gt_open(const char* database_path, const char* kernel_cache, gt_handle** handle) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = database_path;
  options.kernel_cache = kernel_cache;
  return gt_open_with(&options, handle);
}

gt_status gt_open_with(const gt_options* options, gt_handle** handle) {
  return guarded([&] {
    required(handle, "handle");
    *handle = new gt_handle{Dispatcher(settings_of(options))};
  });
}

gt_status gt_reload(gt_handle* handle) {
  return guarded([&] {
    required(handle, "handle");
    handle->dispatcher.reload();
  });
}

void gt_close(gt_handle* handle) { delete handle; }

gt_status gt_lookup(const gt_handle* handle, const gt_device* device, const gt_problem* problem,
                    gt_recipe* recipe) {
  return guarded([&] {
    const Dispatcher& dispatcher = required(handle, "handle").dispatcher;
    const gt_problem& asked = required(problem, "problem");
    required(recipe, "recipe");
    check_reserved(asked.reserved, "problem");  // its words then differ from a call's
    const DeviceName on = device_name_of(device, dispatcher);
    const Dispatcher::Question question{on.arch, on.name, on.sm_count,
                                        std::bit_cast<Dispatcher::Question::Words>(asked)};
    if (dispatcher.recall(question, recipe)) return;
    const Problem checked = problem_of(asked);
    dispatcher.lookup(question, checked, cublas_takes(checked), recipe);
  });
}

gt_status gt_lookup_call(const gt_handle* handle, const gt_device* device, const gt_gemm_call* call,
                         gt_recipe* recipe) {
  return guarded([&] {
    const Dispatcher& dispatcher = required(handle, "handle").dispatcher;
    GemmCall asked = checked_row_major(call);
    required(recipe, "recipe");
    Problem& problem = asked.problem;
    problem = problem_of(asked);
    if (problem.M == 0 || problem.N == 0 || problem.batch == 0) {
      throw UsageError("call has no product: M, N or batch is 0");
    }
    problem.batch = std::min<std::int64_t>(problem.batch, kMaxBatch);
    const bool with_cublas = cublas_takes(asked);
    CallKey key(problem, CallForm(), 0);
    if (!with_cublas) key.forbid_cublas();
    const DeviceName on = device_name_of(device, dispatcher);
    const Dispatcher::Question question{on.arch, on.name, on.sm_count, key.question()};
    if (dispatcher.recall(question, recipe)) return;
    dispatcher.lookup(question, problem, with_cublas, recipe);
  });
}

gt_status gt_sgemm(gt_handle* handle, CUstream_st* stream, gt_order order, gt_transpose trans_a,
                   gt_transpose trans_b, int64_t M, int64_t N, int64_t K, float alpha,
                   const float* A, int64_t lda, const float* B, int64_t ldb, float beta, float* C,
                   int64_t ldc) {
  return gt_sgemm_strided_batched(handle, stream, order, trans_a, trans_b, M, N, K, alpha, A, lda,
                                  0, B, ldb, 0, beta, C, ldc, 0, 1);
}

gt_status gt_sgemm_strided_batched(gt_handle* handle, CUstream_st* stream, gt_order order,
                                   gt_transpose trans_a, gt_transpose trans_b, int64_t M, int64_t N,
                                   int64_t K, float alpha, const float* A, int64_t lda,
                                   int64_t stride_a, const float* B, int64_t ldb, int64_t stride_b,
                                   float beta, float* C, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
  return guarded([&] {
    required(handle, "handle");
    const Order stored = order_of("order", order);
    const bool transposed_a = transposes("trans_a", trans_a);
    const bool transposed_b = transposes("trans_b", trans_b);
    GemmCall call;
    call.problem.M = M;
    call.problem.N = N;
    call.problem.K = K;
    call.problem.layout = layout_of(transposed_a, transposed_b);
    call.problem.batch = batch;
    call.alpha = alpha;
    call.beta = beta;
    call.lda = lda;
    call.stride_a = stride_a;
    call.ldb = ldb;
    call.stride_b = stride_b;
    call.ldc = ldc;
    call.stride_c = stride_c;
    call.A = A;
    call.B = B;
    call.C = call.D = C;
    check(call, stored, "C");
    if (stored == Order::row_major) return handle->dispatcher.gemm(call, stream);
    handle->dispatcher.gemm(in_row_major(call, stored), stream);
  });
}

gt_status gt_gemm(gt_handle* handle, CUstream_st* stream, const gt_gemm_call* call) {
  return guarded([&] {
    required(handle, "handle");
    handle->dispatcher.gemm(checked_row_major(call), stream);
  });
}

const char* gt_last_error() { return last_error; }

const char* gt_version() { return GT_VERSION; }

const char* gt_status_string(gt_status status) {
  switch (status) {
    case GT_OK:
      return "ok";
    case GT_INVALID_ARGUMENT:
      return "invalid argument";
    case GT_DATABASE_ERROR:
      return "database error";
    case GT_DEVICE_ERROR:
      return "device error";
    case GT_NO_KERNEL:
      return "no kernel";
    case GT_INTERNAL_ERROR:
      return "internal error";
  }
  return "unknown";
}

const char* gt_match_string(gt_match match) {
  switch (match) {
    case GT_MATCH_NONE:
      return "none";
    case GT_MATCH_EXACT:
      return "exact";
    case GT_MATCH_NEAREST:
      return "nearest";
    case GT_MATCH_DEFAULT:
      return "default";
    case GT_MATCH_CUBLAS:
      return "cublas";
  }
  return "unknown";
}

const char* gt_source_string(gt_source source) {
  switch (source) {
    case GT_SOURCE_NONE:
      return "none";
    case GT_SOURCE_MEASURED:
      return "measured";
    case GT_SOURCE_PREDICTED:
      return "predicted";
  }
  return "unknown";
}
