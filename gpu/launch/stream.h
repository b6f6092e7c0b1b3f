// SPDX-License-Identifier: Apache-2.0
// CUDA streams and the events that time what runs in them.
//
// Streams are non-blocking: they do not wait for the default stream. Use one object from one thread
// at a time; it belongs to the device that was current when it was made.
#pragma once

#include <memory>

#include "gpu/error.h"

namespace gemm_tune {

// Ends a handle of the CUDA runtime with its owner.
template <auto kDestroy>
struct DestroyedBy {
  template <class Handle>
  void operator()(Handle* handle) const {
    kDestroy(handle);
  }
};

class Stream {
 public:
  Stream();

  cudaStream_t get() const { return stream_.get(); }

  // Waits for everything in the stream. Throws CudaError for a fault of any kernel in it.
  void synchronize() const;

 private:
  std::unique_ptr<CUstream_st, DestroyedBy<&cudaStreamDestroy>> stream_;
};

class Event {
 public:
  Event();

  cudaEvent_t get() const { return event_.get(); }

  // Records the event behind all work that the stream has been given so far.
  void record(cudaStream_t stream);

  // Waits until the stream has passed the recorded point.
  void synchronize() const;

  // Whether the stream has passed the recorded point; does not wait.
  bool is_done() const;

 private:
  std::unique_ptr<CUevent_st, DestroyedBy<&cudaEventDestroy>> event_;
};

// Whether the stream is being captured into a graph. Throws CudaError for the default stream if
// another stream that waits for it is being captured.
bool is_capturing(cudaStream_t stream);

// Lets this thread allocate memory and load kernels while any thread captures a stream. CUDA would
// otherwise fail such calls and invalidate the capture. For calls whose work is not part of the
// graph.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode before_ = cudaStreamCaptureModeRelaxed;
};

// Device time between two recorded points, both passed; resolution is about half a microsecond.
double elapsed_us(const Event& start, const Event& stop);

}  // namespace gemm_tune
