// SPDX-License-Identifier: Apache-2.0
// Measures small products from launch to result, gt_sgemm beside cublasSgemm: one call and a
// synchronisation, --calls calls in a stream and one synchronisation, and the same calls in a CUDA
// graph.
//
//   small_latency DATABASE [--sizes 32x32x32,...] [--seconds 30] [--calls 1000] [--require] ...
//
// The two take turns in rounds. Prints host time per call (medians over the rounds) and how many
// times faster gt_sgemm is (the median over the rounds). Before, both must give the same result
// within fp32's error. "found" says how the database serves the size: exact where it was tuned for
// it. Needs a GPU. Exit codes: 0; 1 with --require where gt_sgemm is not faster in a row; 2 usage;
// 3 no GPU, no cuBLAS, no usable database.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>

#include "bench/library/rounds.h"
#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/error.h"
#include "gpu/device.h"
#include "gpu/launch/launch_graph.h"

namespace gemm_tune {
namespace {

using Clock = std::chrono::steady_clock;
using Enqueue = std::function<void()>;

constexpr int kSingles = 16;  // calls of a round that are waited for one by one
constexpr std::size_t kFewestRounds = 9;

struct Options : TimingOptions {
  Options() {
    seconds = 30;
    calls = 1000;
  }

  std::vector<std::string> sizes = {"32x32x32",    "64x64x64",    "96x96x96",
                                    "128x128x128", "256x256x256", "32x32x512"};
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("Small products from launch to result, beside cublasSgemm.", "small_latency");
  add_timing_options(app, o, 100'000);
  app.add_option("--sizes", o.sizes, "As in 32x32x32,32x32x512")->delimiter(',');
  parse_or_exit(app, argc, argv);
  return o;
}

// Host time per call of what `work` makes `calls` of, in microseconds, to the end of the stream.
double time_us(const Stream& stream, int calls, const Enqueue& work) {
  const auto start = Clock::now();
  work();
  stream.synchronize();
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  return took.count() / calls;
}

// A way to make calls, and how many of them.
struct Mode {
  std::string name;
  int calls;
  std::vector<Enqueue> work;  // by gt_sgemm, by cublasSgemm
};

std::vector<Mode> modes(const Stream& stream, int calls, const std::vector<Enqueue>& ways) {
  Mode single{"single", kSingles, {}}, in_stream{"stream", calls, {}}, in_graph{"graph", calls, {}};
  for (const Enqueue& way : ways) {
    single.work.push_back([&stream, way] {
      for (int i = 0; i < kSingles; ++i) {
        way();
        stream.synchronize();
      }
    });
    const Enqueue all = [way, calls] {
      for (int i = 0; i < calls; ++i) way();
    };
    in_stream.work.push_back(all);
    const auto graph = std::make_shared<const LaunchGraph>(stream, all);
    in_graph.work.push_back([graph, &stream] { graph->launch(stream.get()); });
  }
  return {single, in_stream, in_graph};
}

Rounds measure(const Stream& stream, const Mode& mode, double seconds) {
  Rounds rounds(mode.work.size());
  for (const Enqueue& work : mode.work) time_us(stream, mode.calls, work);  // the first is slower
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end || rounds.count() < kFewestRounds) {
    std::vector<double> times(mode.work.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::size_t way = Rounds::turn(i, rounds.count(), times.size());
      times[way] = time_us(stream, mode.calls, mode.work[way]);
    }
    rounds.add(times);
  }
  return rounds;
}

// The number of rows in which gt_sgemm is not faster.
int measure_size(gt_handle* handle, const Problem& problem, const Options& o) {
  const Stream stream;
  SgemmWays ways(handle, stream, problem);
  const std::vector<Enqueue> both = {[&] { ways.gt_sgemm(); }, [&] { ways.cublas_sgemm(); }};
  check_close(ways.result_of(both[0]), ways.result_of(both[1]), problem.K, "gt_sgemm");
  const gt_match match = ways.recipe().match;
  const std::vector<Mode> all = modes(stream, o.calls, both);
  int slower = 0;
  for (const Mode& mode : all) {
    const double share = o.seconds / static_cast<double>(o.sizes.size() * all.size());
    const Rounds rounds = measure(stream, mode, share);
    const double faster = rounds.ratio(1, 0);
    fmt::print("{:<12} {:<8} {:<7} {:>7} {:>10.2f} {:>13.2f} {:>7.3f} {}\n", to_string(problem),
               gt_match_string(match), mode.name, rounds.count(), rounds.quantile(0, 0.5),
               rounds.quantile(1, 0.5), faster, faster > 1 ? "met" : "MISSED");
    std::fflush(stdout);
    slower += faster > 1 ? 0 : 1;
  }
  return slower;
}

std::vector<Problem> problems_of(const Options& o) {
  std::vector<Problem> problems;
  for (const std::string& size : o.sizes) {
    problems.push_back(parse_problem(size));
    const Problem& p = problems.back();
    if (p == packed_problem(p.M, p.N, p.K)) continue;
    throw UsageError("--sizes: '" + size + "' is not M, N and K alone, as in 32x32x512");
  }
  return problems;
}

int run(const Options& o, const std::vector<Problem>& problems, const std::string& description) {
  const OpenHandle handle(o.database, o.cache);
  fmt::print("{}\n{:<12} {:<8} {:<7} {:>7} {:>10} {:>13} {:>7} {}\n", description, "size", "found",
             "calls", "rounds", "gt_sgemm us", "cublasSgemm us", "faster", "goal > 1");
  int slower = 0;
  for (const Problem& problem : problems) slower += measure_size(handle.get(), problem, o);
  fmt::print("\ngt_sgemm is not faster in {} of {} rows\n", slower, 3 * o.sizes.size());
  return o.require && slower > 0 ? 1 : 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("small_latency", argc, argv, parse, problems_of, run);
}
