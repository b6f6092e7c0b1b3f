// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/report/gpu_timer.h"

namespace gemm_tune::preload {
namespace {

constexpr int kNotReady = 600;
constexpr std::size_t kCollectedAtOnce = 4;

// Some calls of this thread would otherwise break a capture in another.
class RelaxedCapture {
 public:
  RelaxedCapture() { driver().thread_exchange_stream_capture_mode(&mode_); }
  ~RelaxedCapture() { driver().thread_exchange_stream_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = 2;  // relaxed; then the thread's own
};

std::optional<unsigned long long> current_context() {
  unsigned long long id = 0;
  if (!driver().can_time() || driver().ctx_get_id(nullptr, &id) != 0) return std::nullopt;
  return id;
}

bool is_capturing(CUstream_st* stream) {
  int status = 0;
  return driver().stream_is_capturing(stream, &status) != 0 || status != 0;
}

}  // namespace

void GpuTimer::Span::begin(GpuTimer& timer, CUstream_st* stream, Shape* shape) {
  const std::optional<std::size_t> pair = timer.start(stream, shape);
  if (!pair) return;
  timer_ = &timer;
  pair_ = *pair;
}

std::optional<std::size_t> GpuTimer::start(CUstream_st* stream, Shape* shape) {
  const std::optional<unsigned long long> context = current_context();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !context || is_capturing(stream)) return std::nullopt;
  const RelaxedCapture relaxed;
  collect_in(*context, kCollectedAtOnce);
  const std::optional<std::size_t> found = free_pair(*context);
  if (!found) return std::nullopt;
  Pair& pair = pairs_[*found];
  if (driver().event_record(pair.start, stream) != 0) {  // a stream of another context
    unmake(pair);
    return std::nullopt;
  }
  pair.state = State::started;
  pair.stream = stream;
  pair.shape = shape;
  return found;
}

void GpuTimer::stop(std::size_t index) {
  const std::lock_guard lock(mutex_);
  Pair& pair = pairs_[index];
  if (driver().event_record(pair.stop, pair.stream) != 0) return unmake(pair);
  pair.state = State::stopped;
}

void GpuTimer::collect() {
  const std::optional<unsigned long long> context = current_context();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !context) return;
  const RelaxedCapture relaxed;
  collect_in(*context, kPairs);
}

// Events of a context that has ended are never touched again.
void GpuTimer::collect_in(unsigned long long context, std::size_t most) {
  for (std::size_t looked_at = 0; looked_at < kPairs && most > 0; ++looked_at) {
    Pair& pair = pairs_[next_++ % kPairs];
    if (pair.state != State::stopped || pair.context != context) continue;
    collect(pair);
    --most;
  }
}

void GpuTimer::collect(Pair& pair) {
  const int status = driver().event_query(pair.stop);
  if (status == kNotReady) return;
  float ms = 0;
  const bool measured =
      status == 0 && driver().event_elapsed_time(&ms, pair.start, pair.stop) == 0 && ms >= 0;
  if (!measured) return unmake(pair);
  pair.shape->add_time(static_cast<std::uint64_t>(double{ms} * 1e6));
  pair.state = State::free;
}

std::optional<std::size_t> GpuTimer::free_pair(unsigned long long context) {
  Pair* unmade = nullptr;
  for (Pair& pair : pairs_) {
    if (pair.state == State::free && pair.context == context)
      return static_cast<std::size_t>(&pair - pairs_.data());
    if (pair.state == State::unmade && unmade == nullptr) unmade = &pair;
  }
  if (unmade == nullptr || driver().event_create(&unmade->start, 0) != 0) return std::nullopt;
  if (driver().event_create(&unmade->stop, 0) != 0) {
    driver().event_destroy(unmade->start);
    return std::nullopt;
  }
  unmade->context = context;
  unmade->state = State::free;
  return static_cast<std::size_t>(unmade - pairs_.data());
}

void GpuTimer::unmake(Pair& pair) {
  driver().event_destroy(pair.start);
  driver().event_destroy(pair.stop);
  pair.state = State::unmade;
}

}  // namespace gemm_tune::preload
