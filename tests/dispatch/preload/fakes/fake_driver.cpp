// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/preload/fakes/fake_driver.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st {
  float ms = 0;
};

namespace {

constexpr int kInvalidContext = 201, kNotReady = 600, kCaptureUnsupported = 900;
constexpr int kRelaxed = 2;

thread_local int capture_mode = 0;
float now_ms = 0;

// As the driver does with what it calls potentially unsafe.
int unless_unsafe(int status) {
  gemm_tune::FakeDriver& fake = *fake_driver();
  if (!fake.another_thread_captures || capture_mode == kRelaxed) return status;
  fake.capture_is_broken = true;
  return kCaptureUnsupported;
}

}  // namespace

extern "C" {

gemm_tune::FakeDriver* fake_driver() {
  static auto* const only = new gemm_tune::FakeDriver;
  return only;
}

int cuCtxGetDevice(int* device) {
  if (!fake_driver()->has_context) return kInvalidContext;
  *device = fake_driver()->device;
  return 0;
}

int cuCtxGetId(CUctx_st* context, unsigned long long* id) {
  if (context != nullptr || !fake_driver()->has_context) return kInvalidContext;
  *id = fake_driver()->context;
  return 0;
}

int cuStreamIsCapturing(CUstream_st*, int* status) {
  *status = fake_driver()->capture_status;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int cuEventCreate(CUevent_st** event, unsigned flags) {
  if (flags != 0) return 1;  // without times
  *event = new CUevent_st;
  ++fake_driver()->events;
  return unless_unsafe(0);
}

int cuEventDestroy_v2(CUevent_st* event) {
  delete event;
  --fake_driver()->events;
  return 0;
}

int cuEventRecord(CUevent_st* event, CUstream_st*) {
  event->ms = now_ms += 0.25F;
  return fake_driver()->record_status;
}

int cuEventQuery(CUevent_st*) {
  return unless_unsafe(fake_driver()->gpu_is_behind ? kNotReady : 0);
}

int cuEventElapsedTime(float* ms, CUevent_st* start, CUevent_st* stop) {
  *ms = stop->ms - start->ms;
  return unless_unsafe(0);
}
}
