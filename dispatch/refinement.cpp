// SPDX-License-Identifier: Apache-2.0
#include "dispatch/refinement.h"

#include <algorithm>
#include <cstddef>

#include "gpu/stream.h"

namespace gemm_tune {
namespace {

// A sample is so long, where so many launches suffice: the events around it cost a microsecond.
constexpr double kSampleUs = 100;
constexpr int kMostLaunches = 10;
constexpr std::size_t kRounds = 5;
constexpr double kBeaten = 1.5;  // times the fastest: not timed again

// From the first element of the first D to the last of the last.
std::size_t bytes_of_d(const GemmCall& call) {
  const Problem& p = call.problem;
  const std::int64_t elements = (p.batch - 1) * call.stride_c + (p.M - 1) * call.ldc + p.N;
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_of(p.signature.d));
}

}  // namespace

Refinement::Refinement(const GemmCall& call, cudaStream_t stream, double limit_ms)
    : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double, std::milli>(limit_ms))),
      stream_(stream),
      D_(bytes_of_d(call) + kWidestAccessBytes),
      call_(call) {
  // As far from a multiple of the widest access as the caller's.
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(call.D) % kWidestAccessBytes;
  call_.D = D_.data() + offset;
  if (call.C == call.D) call_.C = call_.D;
  D_.fill_bytes(0, stream);
}

// Without the head start a sample would begin with the GPU idle and hold the host's cost of a
// launch, of which cuBLAS has four times as much as a kernel of ours.
double Refinement::sample_us(const Enqueue& enqueue, int launches) {
  while (true) {
    Event begin, end;
    head_start_.launch(stream_);
    begin.record(stream_);
    for (int i = 0; i < launches; ++i) enqueue(call_);
    end.record(stream_);
    const bool may_have_waited = begin.is_done();
    end.synchronize();
    if (may_have_waited && head_start_.lengthen()) continue;
    return elapsed_us(begin, end) / launches;
  }
}

std::vector<std::optional<double>> Refinement::median_us(const std::vector<Enqueue>& ways) {
  struct Way {
    std::optional<double> once_us;  // nothing where the way throws, or was not begun
    std::vector<double> samples_us;
  };
  std::vector<Way> all(ways.size());
  std::optional<double> least_us;
  for (std::size_t i = 0; i < ways.size() && !(least_us && is_over()); ++i) {
    try {
      ways[i](call_);
      all[i].once_us = sample_us(ways[i], 1);
      least_us = std::min(least_us.value_or(*all[i].once_us), *all[i].once_us);
    } catch (const Error&) {
    }
  }
  for (std::size_t turn = 0; turn < kRounds * ways.size() && !is_over(); ++turn) {
    // Every other round runs backwards, so that a drift of the clocks favours nobody.
    const std::size_t round = turn / ways.size(), i = turn % ways.size();
    const std::size_t at = round % 2 == 0 ? i : ways.size() - 1 - i;
    Way& way = all[at];
    if (!way.once_us || *way.once_us > kBeaten * *least_us) continue;
    try {
      const double launches = std::clamp(kSampleUs / *way.once_us, 1.0, double{kMostLaunches});
      way.samples_us.push_back(sample_us(ways[at], static_cast<int>(launches)));
    } catch (const Error&) {
      way = {};
    }
  }
  std::vector<std::optional<double>> medians;
  for (Way& way : all) {
    medians.push_back(way.once_us);
    if (way.samples_us.empty()) continue;
    std::sort(way.samples_us.begin(), way.samples_us.end());
    medians.back() = way.samples_us[way.samples_us.size() / 2];
  }
  return medians;
}

}  // namespace gemm_tune
