// SPDX-License-Identifier: Apache-2.0
// CUDA streams and the events that time what runs in them.
//
// Streams are non-blocking: they do not wait for the default stream. Use one object from one thread
// at a time; it belongs to the device that was current when it was made.
#pragma once

#include "gpu/error.h"

namespace gemm_tune {

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  cudaStream_t get() const { return stream_; }

  // Waits for everything in the stream. Throws CudaError for a fault of any kernel in it.
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  cudaEvent_t get() const { return event_; }

  // Records the event behind all work that the stream has been given so far.
  void record(cudaStream_t stream);

  // Waits until the stream has passed the recorded point.
  void synchronize() const;

  // Whether the stream has passed the recorded point; does not wait.
  bool is_done() const;

 private:
  cudaEvent_t event_ = nullptr;
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
