// SPDX-License-Identifier: Apache-2.0
// libgemm_tune.so, opened when a call first needs it.
//
// Programs of all kinds inherit LD_PRELOAD, most of which never multiply: the drop-in itself needs
// nothing but the C library. Any thread.
#pragma once

#include <atomic>
#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune::preload {

class TunedLibrary {
 public:
  // Opens the library beside the drop-in, else as the loader finds it. It stays open until the
  // process ends, since graphs may be run until then. families: plug-ins to load, a line each.
  // Throws Error with a sentence.
  explicit TunedLibrary(const std::string& families);

  // Opens the default database where it is not open yet, and else has it read again where it has
  // other winners now. Returns whether calls may be answered otherwise from now on. Throws Error
  // with a sentence; what is open then serves on. One thread at a time.
  bool refresh();
  bool is_open() const { return handle_.load(std::memory_order_acquire) != nullptr; }

  // With the database open: as gt_lookup() for the current device, gt_gemm() and gt_last_error().
  gt_status lookup(const gt_gemm_call& call, gt_recipe* recipe) const {
    return lookup_(handle_.load(std::memory_order_acquire), nullptr, &call, recipe);
  }
  gt_status gemm(CUstream_st* stream, const gt_gemm_call& call) const {
    return gemm_(handle_.load(std::memory_order_acquire), stream, &call);
  }
  const char* last_error() const { return last_error_(); }
  // Why no kernel at all serves the call, tuned or not; empty where one might.
  std::string why_no_kernel(const gt_gemm_call& call) const;

 private:
  decltype(&gt_open) open_ = nullptr;
  decltype(&gt_refresh) refresh_ = nullptr;
  decltype(&gt_lookup) lookup_ = nullptr;
  decltype(&gt_explain) explain_ = nullptr;
  decltype(&gt_gemm) gemm_ = nullptr;
  decltype(&gt_last_error) last_error_ = nullptr;
  std::atomic<gt_handle*> handle_ = nullptr;
};

}  // namespace gemm_tune::preload
