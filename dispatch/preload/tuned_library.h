// SPDX-License-Identifier: Apache-2.0
// libgemm_tune.so, opened when a call first needs it.
//
// Programs of all kinds inherit LD_PRELOAD, most of which never multiply: the drop-in itself needs
// nothing but the C library. Any thread.
#pragma once

#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune::preload {

class TunedLibrary {
 public:
  // Opens the library beside the drop-in, else as the loader finds it, and the default database.
  // Both stay open until the process ends, since graphs may be run until then. families: plug-ins
  // to load, a line each. Throws Error with a sentence.
  explicit TunedLibrary(const std::string& families);

  // As gt_lookup() for the current device, gt_gemm() and gt_last_error().
  gt_status lookup(const gt_gemm_call& call, gt_recipe* recipe) const {
    return lookup_(handle_, nullptr, &call, recipe);
  }
  gt_status gemm(CUstream_st* stream, const gt_gemm_call& call) const {
    return gemm_(handle_, stream, &call);
  }
  const char* last_error() const { return last_error_(); }

 private:
  decltype(&gt_lookup) lookup_ = nullptr;
  decltype(&gt_gemm) gemm_ = nullptr;
  decltype(&gt_last_error) last_error_ = nullptr;
  gt_handle* handle_ = nullptr;
};

}  // namespace gemm_tune::preload
