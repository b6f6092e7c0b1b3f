// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.h"

#include <utility>

namespace gemm_tune {

Stream::Stream() { GT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

Stream::~Stream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Stream::Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(stream_, other.stream_);
  return *this;
}

void Stream::synchronize() const { GT_CUDA(cudaStreamSynchronize(stream_)); }

Event::Event() { GT_CUDA(cudaEventCreate(&event_)); }

Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

Event::Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

void Event::record(cudaStream_t stream) { GT_CUDA(cudaEventRecord(event_, stream)); }

void Event::synchronize() const { GT_CUDA(cudaEventSynchronize(event_)); }

bool Event::is_done() const {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check_cuda(code, "cudaEventQuery(event_)");
  return true;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  GT_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

OutsideCapture::OutsideCapture() { GT_CUDA(cudaThreadExchangeStreamCaptureMode(&before_)); }

OutsideCapture::~OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&before_); }

double elapsed_us(const Event& start, const Event& stop) {
  float milliseconds = 0;
  GT_CUDA(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return 1000.0 * static_cast<double>(milliseconds);
}

}  // namespace gemm_tune
