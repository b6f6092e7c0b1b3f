// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that the process has loaded, whichever CUDA runtimes it has.
//
// Nothing is loaded. Any thread.
#pragma once

#include <optional>

struct CUctx_st;
struct CUevent_st;
struct CUstream_st;

namespace gemm_tune::preload {

// As cuda.h declares them; null where the process has no driver, or one that lacks the function.
struct Driver {
  int (*ctx_get_device)(int*);
  int (*ctx_get_id)(CUctx_st*, unsigned long long* id);  // null: of the current context
  int (*stream_is_capturing)(CUstream_st*, int* status);
  int (*thread_exchange_stream_capture_mode)(int* mode);
  int (*event_create)(CUevent_st**, unsigned flags);
  int (*event_destroy)(CUevent_st*);
  int (*event_record)(CUevent_st*, CUstream_st*);
  int (*event_query)(CUevent_st*);
  int (*event_elapsed_time)(float* ms, CUevent_st* start, CUevent_st* stop);

  bool can_time() const {
    return ctx_get_id != nullptr && stream_is_capturing != nullptr &&
           thread_exchange_stream_capture_mode != nullptr && event_create != nullptr &&
           event_destroy != nullptr && event_record != nullptr && event_query != nullptr &&
           event_elapsed_time != nullptr;
  }
};

// Looked up at the first call.
const Driver& driver();

// The ordinal of the calling thread's current device; nothing where no driver is loaded or the
// thread has no context.
std::optional<int> current_device();

}  // namespace gemm_tune::preload
