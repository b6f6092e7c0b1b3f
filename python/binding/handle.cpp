// SPDX-License-Identifier: Apache-2.0
#include "python/binding/handle.h"

#include <nanobind/nanobind.h>

#include <atomic>

#include "python/binding/operand.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

// Written with the GIL held.
std::atomic<gt_handle*> current_handle = nullptr;

}  // namespace

void raise(const char* error, const std::string& sentence) {
  PyErr_SetString(error_class(error).ptr(), sentence.c_str());
  nb::raise_python_error();
}

void check(gt_status status) {
  switch (status) {
    case GT_OK:
      return;
    case GT_INVALID_ARGUMENT:
      raise("ArgumentError", gt_last_error());
    case GT_DATABASE_ERROR:
      raise("DatabaseError", gt_last_error());
    case GT_DEVICE_ERROR:
      raise("DeviceError", gt_last_error());
    case GT_NO_KERNEL:
      raise("NoKernelError", gt_last_error());
    case GT_INTERNAL_ERROR:
      break;
  }
  raise("InternalError", gt_last_error());
}

const char* text_or_null(const std::optional<std::string>& text) {
  if (!text) return nullptr;
  if (text->find('\0') != std::string::npos) {  // C would read another path
    throw ArgumentError("'" + std::string(text->c_str()) + "' goes on behind a null character");
  }
  return text->c_str();
}

void open(const std::optional<std::string>& database,
          const std::optional<std::string>& kernel_cache, int policy, double refine_ms,
          const std::optional<std::string>& refined_choices) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = text_or_null(database);
  options.kernel_cache = text_or_null(kernel_cache);
  options.policy = static_cast<gt_policy>(policy);
  options.refine_ms = refine_ms;
  options.refined_choices = text_or_null(refined_choices);
  gt_handle* opened = nullptr;
  gt_status status = GT_OK;
  {
    const nb::gil_scoped_release others_run;
    status = gt_open(&options, &opened);
  }
  check(status);
  current_handle = opened;
}

gt_handle* handle() {
  if (current_handle == nullptr) open({}, {}, GT_POLICY_BEST, 0, {});
  return current_handle;
}

void load_family_of(const std::string& file) { check(gt_load_family(text_or_null(file))); }

void reload() {
  if (current_handle == nullptr) return;  // reads the database when it is opened
  gt_status status = GT_OK;
  {
    const nb::gil_scoped_release others_run;
    status = gt_reload(current_handle);
  }
  check(status);
}

}  // namespace gemm_tune
