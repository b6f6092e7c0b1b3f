// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch/stream.h"

namespace gemm_tune {

Stream::Stream() {
  cudaStream_t made = nullptr;
  GT_CUDA(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  stream_.reset(made);
}

void Stream::synchronize() const { GT_CUDA(cudaStreamSynchronize(get())); }

Event::Event() {
  cudaEvent_t made = nullptr;
  GT_CUDA(cudaEventCreate(&made));
  event_.reset(made);
}

void Event::record(cudaStream_t stream) { GT_CUDA(cudaEventRecord(get(), stream)); }

void Event::synchronize() const { GT_CUDA(cudaEventSynchronize(get())); }

bool Event::is_done() const {
  const cudaError_t code = cudaEventQuery(get());
  if (code == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check_cuda(code, "cudaEventQuery(get())");
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
