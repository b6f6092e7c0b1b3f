// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/driver.h"

#include <dlfcn.h>

namespace gemm_tune::preload {

const Driver& driver() {
  static const Driver only = [] {
    void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const auto find = [library]<class Function>(Function*& function, const char* name) {
      function = library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
    };
    Driver found;
    find(found.ctx_get_device, "cuCtxGetDevice");
    find(found.ctx_get_id, "cuCtxGetId");
    find(found.stream_is_capturing, "cuStreamIsCapturing");
    find(found.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(found.event_create, "cuEventCreate");
    find(found.event_destroy, "cuEventDestroy_v2");
    find(found.event_record, "cuEventRecord");
    find(found.event_query, "cuEventQuery");
    find(found.event_elapsed_time, "cuEventElapsedTime");
    return found;
  }();
  return only;
}

std::optional<int> current_device() {
  int ordinal = 0;
  if (driver().ctx_get_device == nullptr || driver().ctx_get_device(&ordinal) != 0) {
    return std::nullopt;
  }
  return ordinal;
}

}  // namespace gemm_tune::preload
