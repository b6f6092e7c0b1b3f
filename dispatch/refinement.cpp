// SPDX-License-Identifier: Apache-2.0
#include "dispatch/refinement.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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
    : stream_(stream), D_(bytes_of_d(call) + kWidestAccessBytes), call_(call) {
  const std::chrono::duration<double, std::milli> limit(limit_ms);
  const Clock::time_point begin = Clock::now();
  half_ = begin + std::chrono::duration_cast<Clock::duration>(limit / 2);
  end_ = begin + std::chrono::duration_cast<Clock::duration>(limit);
  // As far from a multiple of the widest access as the caller's.
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(call.D) % kWidestAccessBytes;
  call_.D = D_.data() + offset;
  if (call.C == call.D) call_.C = call_.D;
  // The choice is also that of calls without prepared operands.
  call_.kept_a = call_.kept_b = nullptr;
  D_.fill_bytes(0, stream);
}

LaunchGraph Refinement::captured(const Enqueue& enqueue, int launches) const {
  return LaunchGraph(capturing_, [&] {
    for (int i = 0; i < launches; ++i) enqueue(call_, capturing_.get());
  });
}

// The head start hides the host's cost of the graph's launch, and the graph that of its launches,
// of which cuBLAS has four times as much as a kernel of ours.
double Refinement::sample_us(const LaunchGraph& graph) {
  while (true) {
    Event begin, end;
    head_start_.launch(stream_);
    begin.record(stream_);
    graph.launch(stream_);
    end.record(stream_);
    const bool may_have_waited = begin.is_done();
    end.synchronize();
    if (may_have_waited && head_start_.lengthen()) continue;
    return elapsed_us(begin, end);
  }
}

std::vector<std::optional<double>> Refinement::median_us(const std::vector<Enqueue>& ways) {
  struct Way {
    std::optional<LaunchGraph> graph;  // nothing where the way throws, or was not begun
    int launches = 1;                  // of the graph
    double once_us = 0;
    std::vector<double> samples_us;
  };
  std::vector<Way> all(ways.size());
  std::optional<double> least_us;
  for (std::size_t i = 0; i < ways.size() && !(least_us && is_over()); ++i) {
    try {
      ways[i](call_, stream_);  // outside of a capture: it may load code
      LaunchGraph once = captured(ways[i], 1);
      all[i].once_us = sample_us(once);
      all[i].graph.emplace(std::move(once));
      least_us = std::min(least_us.value_or(all[i].once_us), all[i].once_us);
    } catch (const Error&) {
    }
  }
  for (std::size_t turn = 0; turn < kRounds * ways.size() && !is_over(); ++turn) {
    // Every other round runs backwards, so that a drift of the clocks favours nobody.
    const std::size_t round = turn / ways.size(), i = turn % ways.size();
    const std::size_t at = round % 2 == 0 ? i : ways.size() - 1 - i;
    Way& way = all[at];
    if (!way.graph || way.once_us > kBeaten * *least_us) continue;
    try {
      if (round == 0) {
        way.launches =
            static_cast<int>(std::clamp(kSampleUs / way.once_us, 1.0, double{kMostLaunches}));
        if (way.launches > 1) way.graph.emplace(captured(ways[at], way.launches));
      }
      way.samples_us.push_back(sample_us(*way.graph) / way.launches);
    } catch (const Error&) {
      way = {};
    }
  }
  std::vector<std::optional<double>> medians;
  for (Way& way : all) {
    std::optional<double>& median = medians.emplace_back();
    if (!way.graph) continue;
    median = way.once_us;
    if (way.samples_us.empty()) continue;
    std::sort(way.samples_us.begin(), way.samples_us.end());
    median = way.samples_us[way.samples_us.size() / 2];
  }
  return medians;
}

}  // namespace gemm_tune
