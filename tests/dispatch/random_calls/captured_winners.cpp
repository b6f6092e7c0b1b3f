// SPDX-License-Identifier: Apache-2.0
// Checks that every winner of a database gives the same bits in a CUDA graph as in an eager call.
//
// usage: captured_winners DATABASE [REPLAYS [KERNEL_CACHE]]
//
// In each capture mode, two graphs of one call each are captured from one stream. Each graph is
// replayed REPLAYS times (default: 100) in its own stream, while the first stream makes the same
// call eagerly: three launches at once, which must not share scratch memory. Every result is
// compared on the device, bit for bit, with a first eager call's; C is NaN before each. Prints one
// line per winner: its scratch memory, the time of an eager call and of a replay (means of 50 in a
// row, with nothing else running), and the number of different results. Needs a GPU. Exits with 1
// if a result differs.
#include <gemm_tune/gemm_tune.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "choose/choose.h"
#include "core/error.h"
#include "gpu/device.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/random_calls/gemm_checks.h"

namespace gemm_tune {
namespace {

constexpr int kTimed = 50;
constexpr std::pair<cudaStreamCaptureMode, const char*> kModes[] = {
    {cudaStreamCaptureModeGlobal, "global"},
    {cudaStreamCaptureModeThreadLocal, "thread-local"},
    {cudaStreamCaptureModeRelaxed, "relaxed"}};

void check_status(gt_status status) {
  if (status != GT_OK) throw Error(gt_last_error());
}

// A graph of whatever `enqueue` puts into the stream.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, cudaStreamCaptureMode mode, const Enqueue& enqueue) {
    GT_CUDA(cudaStreamBeginCapture(stream, mode));
    enqueue();
    GT_CUDA(cudaStreamEndCapture(stream, &graph_));
    GT_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cudaStream_t stream) const { GT_CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// A leading dimension for rows of this length, of exactly this alignment class.
std::int64_t padded(std::int64_t length, int alignment) {
  std::int64_t ld = (length + alignment - 1) / alignment * alignment;
  if (alignment < 4 && ld % (2 * alignment) == 0) ld += alignment;
  return ld;
}

bool is_packed(const Problem& problem) {
  return packed_problem(problem.M, problem.N, problem.K, problem.layout, problem.batch) == problem;
}

class WinnersCall {
 public:
  WinnersCall(gt_handle* handle, const GemmChecks& checks, const Problem& problem)
      : handle_(handle), problem_(problem) {
    const bool packed = is_packed(problem);
    const auto ld = [&](std::int64_t length) {
      return packed ? length : padded(length, alignment_class(problem));
    };
    const auto trans = [](bool yes) { return yes ? GT_TRANSPOSE : GT_NO_TRANSPOSE; };
    call_.M = problem.M;
    call_.N = problem.N;
    call_.K = problem.K;
    call_.batch = problem.batch;
    call_.trans_a = trans(transposes_a(problem.layout));
    call_.trans_b = trans(transposes_b(problem.layout));
    call_.lda = ld(row_length_a(problem));
    call_.ldb = ld(row_length_b(problem));
    call_.ldc = ld(problem.N);
    call_.stride_a = rows_a(problem) * call_.lda;
    call_.stride_b = rows_b(problem) * call_.ldb;
    call_.stride_c = problem.M * call_.ldc;
    a_ = DeviceBuffer<float>(static_cast<std::size_t>(call_.stride_a * problem.batch));
    b_ = DeviceBuffer<float>(static_cast<std::size_t>(call_.stride_b * problem.batch));
    call_.A = a_.data();
    call_.B = b_.data();
    checks.set_elements(all_of(a_), 1, Fill::uniform, nullptr);
    checks.set_elements(all_of(b_), 2, Fill::uniform, nullptr);
  }

  DeviceBuffer<float> new_c() const {
    return DeviceBuffer<float>(static_cast<std::size_t>(call_.stride_c * problem_.batch));
  }

  void enqueue(DeviceBuffer<float>& C, cudaStream_t stream) const {
    gt_gemm_call call = call_;
    call.C = call.D = C.data();
    check_status(gt_gemm(handle_, stream, &call));
  }

  // What serves it: addresses of CUDA's buffers are aligned.
  gt_recipe recipe() const {
    gt_recipe recipe{};
    check_status(gt_lookup(handle_, nullptr, &call_, &recipe));
    return recipe;
  }

 private:
  static Matrix all_of(const DeviceBuffer<float>& buffer) {
    return {buffer.data(), 1, static_cast<long long>(buffer.size()), 0, 1, 0, 1};
  }

  gt_handle* handle_;
  Problem problem_;
  gt_gemm_call call_ = GT_GEMM_CALL_INIT;  // without C and D
  DeviceBuffer<float> a_, b_;
};

// Throws where the library would not answer with the winner itself.
gt_recipe recipe_of(const WinnersCall& call, const Winner& winner) {
  const gt_recipe recipe = call.recipe();
  if (recipe.config != to_string(winner.config.config())) {
    throw Error("for " + to_string(winner.record.problem) + " the library launches " +
                recipe.config + ", not " + to_string(winner.config.config()));
  }
  return recipe;
}

template <class Enqueue>
double mean_us(cudaStream_t stream, const Enqueue& enqueue) {
  Event start, stop;
  enqueue();
  start.record(stream);
  for (int i = 0; i < kTimed; ++i) enqueue();
  stop.record(stream);
  stop.synchronize();
  return elapsed_us(start, stop) / kTimed;
}

struct Finding {
  unsigned long long different = 0;  // cells, of all results
  double eager_us = 0, replay_us = 0;
};

Finding replay(const WinnersCall& call, const GemmChecks& checks, cudaStreamCaptureMode mode,
               int replays) {
  DeviceBuffer<float> want = call.new_c();
  DeviceBuffer<float> results[3] = {call.new_c(), call.new_c(), call.new_c()};
  const Counter different = new_counter();
  want.fill_bytes(0xff);
  GT_CUDA(cudaDeviceSynchronize());
  const Stream captured, others[2];
  call.enqueue(want, captured.get());
  captured.synchronize();
  const Graph graphs[2] = {
      {captured.get(), mode, [&] { call.enqueue(results[0], captured.get()); }},
      {captured.get(), mode, [&] { call.enqueue(results[1], captured.get()); }}};
  Finding finding;
  finding.eager_us = mean_us(captured.get(), [&] { call.enqueue(results[2], captured.get()); });
  finding.replay_us = mean_us(captured.get(), [&] { graphs[0].launch(captured.get()); });
  GT_CUDA(cudaDeviceSynchronize());
  const auto check = [&](int i, const Stream& stream, const auto& enqueue) {
    results[i].fill_bytes(0xff, stream.get());
    enqueue();
    checks.count_different({results[i].data(), static_cast<std::int64_t>(results[i].size())},
                           want.data(), different, stream.get());
  };
  for (int i = 0; i < replays; ++i) {
    check(0, others[0], [&] { graphs[0].launch(others[0].get()); });
    check(1, others[1], [&] { graphs[1].launch(others[1].get()); });
    check(2, captured, [&] { call.enqueue(results[2], captured.get()); });
  }
  finding.different = value_of(different);
  return finding;
}

int run(const char* database_path, int replays, const char* kernel_cache) {
  check_driver();
  const DeviceSpec device = query_device(current_device());
  const Database database(database_path, Database::Mode::read_only);
  gt_handle* handle = nullptr;
  check_status(open_kernels(database_path, kernel_cache, &handle));
  const GemmChecks checks;
  int winners = 0, with_scratch = 0, bad = 0;
  for (const Winner& winner : load_winners(database, device.arch)) {
    if (winner.record.device != device_key(device)) continue;
    const WinnersCall call(handle, checks, winner.record.problem);
    const gt_recipe recipe = recipe_of(call, winner);
    ++winners;
    if (recipe.workspace_bytes > 0) ++with_scratch;
    for (const auto& [mode, name] : kModes) {
      const Finding finding = replay(call, checks, mode, replays);
      if (finding.different > 0) ++bad;
      std::printf(
          "%-4s %-26s %-12s scratch %10lld  eager %9.2f us  replay %9.2f us  %llu cells "
          "differ\n",
          finding.different == 0 ? "good" : "BAD", to_string(winner.record.problem).c_str(), name,
          static_cast<long long>(recipe.workspace_bytes), finding.eager_us, finding.replay_us,
          finding.different);
      std::fflush(stdout);
    }
  }
  gt_close(handle);
  std::printf(
      "%s: %d winners, %d of them with scratch memory, 3 capture modes, %d replays of each "
      "of 2 graphs beside their stream: %d of %d differ\n",
      winners > 0 && bad == 0 ? "good" : "BAD", winners, with_scratch, replays, bad, 3 * winners);
  return winners > 0 && bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  const int replays = argc > 2 ? std::atoi(argv[2]) : 100;
  if (argc < 2 || argc > 4 || replays < 1) {
    std::fprintf(stderr, "usage: captured_winners DATABASE [REPLAYS [KERNEL_CACHE]]\n");
    return 2;
  }
  try {
    return gemm_tune::run(argv[1], replays, argc > 3 ? argv[3] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "captured_winners: %s\n", error.what());
    return 3;
  }
}
