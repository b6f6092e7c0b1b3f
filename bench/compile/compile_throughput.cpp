// SPDX-License-Identifier: Apache-2.0
// Measures how many candidates a machine compiles per second, in one thread, in threads of one
// process and in processes. Always the same candidates, for sm_90. usage: compile_throughput
// [PROCESSES [COUNT]]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/device/device_spec.h"
#include "core/in_parallel.h"
#include "core/usable_cpus.h"
#include "runtime/compile.h"
#include "tuner/job/tune.h"
#include "tuner/plan/candidates.h"
#include "tuner/work/own_worker.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {
namespace {

constexpr const char* kArch = "sm_90";

std::vector<KnownConfig> some_configs(std::size_t count) {
  TuneRequest request;
  request.device = find_device_spec(kArch).value();
  const ConfigList all = candidates_for(request, packed_problem(1024, 1024, 1024)).points;
  std::vector<KnownConfig> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

void compile(const KnownConfig& config) {
  const KernelSource text = kernel_source(*config.family);
  const CompileResult result = compile_kernel(text, config, COperand::in_place, kArch);
  if (!result.ok) std::abort();
}

void in_threads(const std::vector<KnownConfig>& configs, std::size_t count) {
  in_parallel(count, configs.size(), [&](std::size_t i) { compile(configs[i]); });
}

void in_processes(WorkerPool& pool, const std::vector<KnownConfig>& configs) {
  for (const KnownConfig& config : configs) {
    const CompileRequest request{to_string(config.config()), kArch};
    pool.submit({"compile", request, std::chrono::seconds(60), false, [](const TaskResult& result) {
                   if (result.status != TaskResult::Status::reply) std::abort();
                 }});
  }
  while (pool.pending() > 0) WorkerPool::wait({&pool}, std::chrono::seconds(1));
}

double show(const char* what, std::size_t count, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const double rate = static_cast<double>(count) / taken.count();
  std::printf("%-28s %6.1f candidates/s\n", what, rate);
  return rate;
}

int run(std::size_t processes, std::size_t count) {
  const std::vector<KnownConfig> configs = some_configs(count);
  const std::vector<KnownConfig> few(configs.begin(),
                                     configs.begin() + static_cast<std::ptrdiff_t>(count / 4));
  compile(configs.front());  // what NVRTC does once
  const double one = show("one thread", few.size(), [&] { in_threads(few, 1); });
  show("as many threads", count, [&] { in_threads(configs, processes); });
  WorkerPool pool(std::vector<WorkerCommand>(processes, compile_worker(own_worker())));
  in_processes(pool, few);  // starts them
  const double many = show("as many processes", count, [&] { in_processes(pool, configs); });
  std::printf("%zu processes over one thread: %.2f\n", processes, many / one);
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], gemm_tune::kWorkerArgument) == 0) {
    return gemm_tune::run_worker({argv + 2, argv + argc});
  }
  const std::size_t processes =
      argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : gemm_tune::usable_cpus();
  return gemm_tune::run(processes, argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 512);
}
