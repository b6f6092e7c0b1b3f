// SPDX-License-Identifier: Apache-2.0
// The C interface: arguments in, exceptions to statuses. What is done is in dispatcher.cpp.
#include "dispatch/include/gemm_tune/gemm_tune.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text/printable.h"
#include "db/layers.h"
#include "dispatch/c_values.h"
#include "dispatch/dispatcher.h"
#include "dispatch/prepared_operand.h"
#include "gpu/cuda_libraries/cuda_folders.h"
#include "gpu/device.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/registry/user_families.h"

struct gt_handle {
  gemm_tune::Dispatcher dispatcher;
};

namespace gemm_tune {
namespace {

// The layout is the binary interface.
static_assert(sizeof(gt_device) == 24 && sizeof(gt_recipe) == 88 && sizeof(gt_gemm_call) == 256 &&
              sizeof(gt_options) == 48);

// Throws UsageError.
GivenWorkspace given_workspace(const gt_gemm_call& call) {
  if (call.workspace_bytes < -1) {
    throw UsageError("call.workspace_bytes is " + std::to_string(call.workspace_bytes) +
                     ": it must be the bytes of call.workspace, or -1 for none");
  }
  if (call.workspace_bytes > 0 &&
      (call.workspace == nullptr ||
       reinterpret_cast<std::uintptr_t>(call.workspace) % kWorkspaceAlignment != 0)) {
    throw UsageError(
        "call.workspace must be an address on the device that is aligned to 256 bytes where "
        "call.workspace_bytes is above 0");
  }
  return {call.workspace, call.workspace_bytes};
}

// Of the thread; a fixed array, since reporting an error must not fail.
thread_local char last_error[1024] = "";

// Copies what fits, always terminated.
void copy_text(char* target, std::size_t capacity, const char* text) {
  std::size_t size = std::min(capacity - 1, std::strlen(text));
  const auto continues = [&] { return (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80; };
  while (size > 0 && continues()) --size;  // no part of a UTF-8 character
  std::memcpy(target, text, size);
  target[size] = '\0';
}

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

DeviceName name_of(const gt_device& device) {
  return {device.arch, device.name == nullptr ? "" : device.name, device.sm_count};
}

DeviceName checked_name(const gt_device* device, const Dispatcher& dispatcher) {
  if (device == nullptr) return dispatcher.current_device_name();
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
  return name_of(*device);
}

Policy policy_of(gt_policy value) {
  switch (value) {
    case GT_POLICY_BEST:
      return Policy::best;
    case GT_POLICY_TUNED_ONLY:
      return Policy::tuned_only;
    case GT_POLICY_DETERMINISTIC:
      return Policy::deterministic;
    case GT_POLICY_BATCH_INVARIANT:
      return Policy::batch_invariant;
    case GT_POLICY_MAX:
      break;
  }
  refuse_value("options.policy", value,
               "GT_POLICY_BEST, GT_POLICY_TUNED_ONLY, GT_POLICY_DETERMINISTIC or "
               "GT_POLICY_BATCH_INVARIANT");
}

Dispatcher::Settings settings_of(const gt_options& asked) {
  check_size(asked, "options", "gt_options", "GT_OPTIONS_INIT");
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

}  // namespace
}  // namespace gemm_tune

using namespace gemm_tune;  // of this file's entry points, which C requires to be global

gt_status gt_open(const gt_options* options, gt_handle** handle) {
  return guarded([&] {
    required(handle, "handle");
    const gt_options defaults = GT_OPTIONS_INIT;
    *handle = new gt_handle{Dispatcher(settings_of(options == nullptr ? defaults : *options))};
  });
}

gt_status gt_load_family(const char* file) {
  return guarded([&] { load_family(&required(file, "file")); });
}

gt_status gt_reload(gt_handle* handle) {
  return guarded([&] {
    required(handle, "handle");
    handle->dispatcher.reload();
  });
}

gt_status gt_refresh(gt_handle* handle, int* changed) {
  return guarded([&] {
    required(handle, "handle");
    const bool has_changed = handle->dispatcher.refresh();
    if (changed != nullptr) *changed = has_changed ? 1 : 0;
  });
}

void gt_close(gt_handle* handle) { delete handle; }

gt_status gt_lookup(const gt_handle* handle, const gt_device* device, const gt_gemm_call* call,
                    gt_recipe* recipe) {
  const bool is_whole = handle != nullptr && device != nullptr && device->arch != nullptr &&
                        call != nullptr && call->size == sizeof(gt_gemm_call) && recipe != nullptr;
  if (is_whole) {
    if (const gt_recipe* const known = handle->dispatcher.remembered(name_of(*device), *call)) {
      *recipe = *known;
      return GT_OK;
    }
  }
  return guarded([&] {
    const Dispatcher& dispatcher = required(handle, "handle").dispatcher;
    required(call, "call");
    required(recipe, "recipe");
    *recipe = dispatcher.lookup(checked_name(device, dispatcher), *call);
  });
}

gt_status gt_explain(const gt_handle* handle, const gt_device* device, const gt_gemm_call* call,
                     const char** sentence) {
  return guarded([&] {
    const Dispatcher& dispatcher = required(handle, "handle").dispatcher;
    required(call, "call");
    required(sentence, "sentence");
    thread_local std::string own;
    own = dispatcher.explain(checked_name(device, dispatcher), *call);
    *sentence = own.c_str();
  });
}

gt_status gt_gemm(gt_handle* handle, CUstream_st* stream, const gt_gemm_call* call) {
  return guarded([&] {
    required(handle, "handle");
    GemmCall own = row_major_call(required(call, "call"), Addresses::needed);
    if (call->prepared_a != nullptr || call->prepared_b != nullptr) {
      take_prepared(*call, current_device(), own);
    }
    handle->dispatcher.gemm(own, stream, given_workspace(*call));
  });
}

gt_status gt_prepare(gt_handle* handle, CUstream_st* stream, const gt_gemm_call* call,
                     gt_operand operand, gt_prepared** prepared) {
  return guarded([&] {
    required(handle, "handle");
    required(prepared, "prepared");
    if (operand != GT_OPERAND_A && operand != GT_OPERAND_B) {
      refuse_value("operand", operand, "GT_OPERAND_A or GT_OPERAND_B");
    }
    const GemmCall own = row_major_call(required(call, "call"), Addresses::optional);
    OperandPlace place = place_of(operand, call->order, own, 0);
    check_preparable(operand, place, own);
    place.ordinal = current_device();
    std::unique_ptr<gt_prepared> made;
    if (*prepared == nullptr) {
      made = std::make_unique<gt_prepared>();
    } else {
      check_same_size((*prepared)->operand.place, place);
    }
    PreparedOperand& to = made ? made->operand : (*prepared)->operand;
    handle->dispatcher.keep_copy(is_a_row_major(operand, call->order) ? CallValue::A : CallValue::B,
                                 own, stream, to.copy);
    to.place = place;
    if (made) *prepared = made.release();
  });
}

void gt_release(gt_prepared* prepared) {
  if (prepared == nullptr) return;
  guarded([&] {
    const OutsideCapture freeing;
    delete std::exchange(prepared, nullptr);
  });
  delete prepared;  // where CUDA does not work any more
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

gt_epilogue gt_epilogue_named(const char* text) {
  try {
    return gemm_tune::parse_epilogue(text == nullptr ? "" : text).bits();
  } catch (const std::exception&) {
    return UINT32_MAX;
  }
}

const char* gt_epilogue_list() {
  static const std::string list = gemm_tune::epilogue_list();
  return list.c_str();
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
