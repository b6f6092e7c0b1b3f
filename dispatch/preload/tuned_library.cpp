// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/tuned_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "choose/no_kernel.h"
#include "core/error.h"

namespace gemm_tune::preload {
namespace {

std::filesystem::path own_folder() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &own) == 0) return {};
  return std::filesystem::path(own.dli_fname).parent_path();
}

void* open_library() {
  constexpr int kHow = RTLD_NOW | RTLD_LOCAL;
  const std::filesystem::path beside = own_folder() / GT_LIBRARY_FILE;
  std::error_code unreadable;
  const bool is_there = std::filesystem::exists(beside, unreadable);
  void* const library = ::dlopen(is_there ? beside.c_str() : GT_LIBRARY_FILE, kHow);
  if (library == nullptr) throw Error(std::string("gemm-tune's library: ") + ::dlerror());
  return library;
}

template <class Function>
Function function_of(void* library, const char* name) {
  void* const function = ::dlsym(library, name);
  if (function == nullptr) {
    throw Error(std::string(GT_LIBRARY_FILE " has no ") + name + ": it is of another version");
  }
  return reinterpret_cast<Function>(function);
}

}  // namespace

TunedLibrary::TunedLibrary(const std::string& families) {
  void* const library = open_library();
  open_ = function_of<decltype(&gt_open)>(library, "gt_open");
  refresh_ = function_of<decltype(&gt_refresh)>(library, "gt_refresh");
  lookup_ = function_of<decltype(&gt_lookup)>(library, "gt_lookup");
  explain_ = function_of<decltype(&gt_explain)>(library, "gt_explain");
  gemm_ = function_of<decltype(&gt_gemm)>(library, "gt_gemm");
  last_error_ = function_of<decltype(&gt_last_error)>(library, "gt_last_error");
  std::istringstream lines(families);
  for (std::string file; std::getline(lines, file);) {
    if (function_of<decltype(&gt_load_family)>(library, "gt_load_family")(file.c_str()) != GT_OK) {
      throw Error(last_error());
    }
  }
}

bool TunedLibrary::refresh() {
  if (gt_handle* const handle = handle_.load(std::memory_order_relaxed)) {
    int changed = 0;
    if (refresh_(handle, &changed) != GT_OK) throw Error(last_error());
    return changed != 0;
  }
  gt_options options = GT_OPTIONS_INIT;
  // Never a cuBLAS of the library's own: of two calls of one shape with different addresses or
  // alpha, the second may get another choice than the look-up of the first.
  options.policy = GT_POLICY_TUNED_ONLY;
  gt_handle* handle = nullptr;
  if (open_(&options, &handle) != GT_OK) throw Error(last_error());
  handle_.store(handle, std::memory_order_release);
  return true;
}

std::string TunedLibrary::why_no_kernel(const gt_gemm_call& call) const {
  const char* sentence = nullptr;
  const gt_handle* const handle = handle_.load(std::memory_order_acquire);
  if (explain_(handle, nullptr, &call, &sentence) != GT_OK) return "";
  return std::string_view(sentence).starts_with(kNoKernelServes) ? sentence : "";
}

}  // namespace gemm_tune::preload
