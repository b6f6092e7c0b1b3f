// SPDX-License-Identifier: Apache-2.0
// tune() over a list of configs with fake workers. The robustness tests call it in their own
// process, or in a process that they kill.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "search/space/space.h"
#include "tests/tuner/fakes/fake_candidates.h"
#include "tuner/agents/one_machine.h"
#include "tuner/plan/candidates.h"

namespace gemm_tune::fake {

inline const Problem kProblem = packed_problem(1024, 1024, 1024);

// Whether the config compiles as everything that it is served as: one failure costs a winner its
// place.
inline bool specialisations_compile(const KnownConfig& config) {
  for (const KnownConfig& variant : served_variants(config)) {
    const Fault fault = fault_of(to_string(variant.config()));
    if (fault == Fault::compile_failed || fault == Fault::compiler_crash ||
        fault == Fault::endless_compile) {
      return false;
    }
  }
  return true;
}

// About `count` configs from all over the space that are legal for kProblem; only healthy ones if
// asked.
inline std::vector<KnownConfig> some_configs(std::size_t count, bool with_faulty) {
  TuneRequest request;
  request.device = find_device_spec("sm_90").value();
  const ConfigList all = candidates_for(request, kProblem).points;
  std::vector<KnownConfig> some;
  for (std::size_t i = 0; i < count; ++i) {
    const KnownConfig config = all[i * all.size() / count];
    const bool healthy = fault_of(to_string(config.config())) == Fault::none;
    if (healthy ? specialisations_compile(config) : with_faulty) some.push_back(config);
  }
  return some;
}

// A worker that hangs is late at once, and no other ever is, however slow the machine.
inline WorkerClock clock_of(const std::string& log) {
  return [log](pid_t worker) {
    const bool hangs = std::filesystem::exists(mark_of_hang(log, worker));
    return RunningClock::time_point(std::chrono::hours(hangs ? 1 : 0));
  };
}

// mode: of fake_candidate_worker.
inline TuneRequest request_of(std::vector<KnownConfig> configs, const std::string& log,
                              const std::string& mode = "") {
  TuneRequest request;
  request.problems = {kProblem};
  request.device = find_device_spec("sm_90").value();
  request.measure = true;
  request.device.memory_bytes = std::int64_t{80} << 30;
  request.only = std::move(configs);
  request.jobs = 2;
  request.seed = 1;
  request.worker = {GT_FAKE_CANDIDATE_WORKER, log, mode};
  request.worker_clock = clock_of(log);
  // How often the clock is read.
  request.compile_limit = request.measure_limit = std::chrono::milliseconds(20);
  return request;
}

inline TuneReport tune_into(
    const std::string& path, const TuneRequest& request,
    const OnProgress& on_progress = [](const Progress&) {}) {
  Database database(path, Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "with fakes", 1});
  return tune(request, database, on_progress);
}

inline TuneReport tune_with_fakes(std::vector<KnownConfig> configs, const std::string& path,
                                  const std::string& log) {
  return tune_into(path, request_of(std::move(configs), log));
}

}  // namespace gemm_tune::fake
