// SPDX-License-Identifier: Apache-2.0
// A real run on a GPU in which one candidate in four does its worst (tests/faults/faulty).
//
// usage: tune_with_faults DB KERNEL_DIR HEALTHY FAULTY
//   KERNEL_DIR holds a kernel_templates/ with faulty/ in it; HEALTHY and FAULTY are numbers of
//   configs, FAULTY 0 for the clean run to compare with.
// Prints what became of the candidates and the winner; exit code 1 where a healthy one
// was not timed or a faulty one's row is not what it has to be.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "cli/arguments/target.h"
#include "core/error.h"
#include "db/database.h"
#include "gpu/compile/nvrtc.h"
#include "tests/faults/faulty/family.h"
#include "tuner/agents/one_machine.h"
#include "tuner/plan/candidates.h"
#include "tuner/work/own_worker.h"
#include "tuner/work/worker.h"

namespace gemm_tune {
namespace {

const Problem kProblem = packed_problem(1024, 1024, 1024);

bool is_right(int fault, const std::string& disposition) {
  switch (fault) {
    case faulty::kIllegalAddress:
    case faulty::kMisaligned:
    case faulty::kTrap:
    case faulty::kAllocation:
      return disposition == "launch_failed";
    case faulty::kSharedMemory:  // known once it is compiled
      return disposition == "rejected";
    case faulty::kEndlessLoop:
      return disposition == "timed_out";
    case faulty::kEndlessCompile:  // or no row, where it takes all memory before its time is up
      return disposition == "timed_out";
    default:
      return disposition == "wrong_result";
  }
}

// Evenly from the space, the faulty ones between the healthy ones.
std::vector<KnownConfig> mixture(const TuneRequest& request, std::size_t healthy,
                                 std::size_t faulty_count) {
  std::vector<KnownConfig> all;
  for (const KnownConfig& config : candidates_for(request, kProblem).points) {
    if (config.family->name != "faulty") all.push_back(config);
  }
  std::vector<KnownConfig> mixed;
  for (std::size_t i = 0; i < healthy; ++i) mixed.push_back(all[i * all.size() / healthy]);
  for (std::size_t i = 0; i < faulty_count; ++i) {
    const int fault = 1 + static_cast<int>(i) % faulty::kFaults;
    const int id = static_cast<int>(i) / faulty::kFaults;
    mixed.push_back(check_config(
        parse_config("faulty/FAULT=" + std::to_string(fault) + ",ID=" + std::to_string(id))));
  }
  return mixed;
}

int judge(const Database& database, const TuneRequest& request) {
  std::map<std::string, int> good, bad;
  const std::vector<Record> rows = database.records(device_key(request.device), kProblem);
  for (const Record& row : rows) {
    const KnownConfig config = check_config(parse_config(row.config));
    const std::string disposition(to_string(row.outcome.disposition));
    const bool is_faulty = config.family->name == "faulty";
    const std::string kind = is_faulty ? "fault " + std::to_string(config.values[0]) : "healthy";
    // A healthy one may still be rejected for its registers.
    const bool right = is_faulty ? is_right(config.values[0], disposition)
                                 : disposition == "ok" || disposition == "rejected";
    ++(right ? good : bad)[kind + ": " + disposition];
    if (!right) std::printf("WRONG %s %s\n", row.config.c_str(), row.outcome.detail.c_str());
  }
  std::set<std::string> stored;
  for (const Record& row : rows) stored.insert(row.config);
  for (const KnownConfig& config : request.only) {
    const bool may_lack_a_row =
        config.family->name == "faulty" && config.values[0] == faulty::kEndlessCompile;
    if (!may_lack_a_row && !stored.contains(to_string(config.config()))) ++bad["no row"];
  }
  for (const auto& [what, count] : good) std::printf("right %4d  %s\n", count, what.c_str());
  for (const auto& [what, count] : bad) std::printf("WRONG %4d  %s\n", count, what.c_str());
  return bad.empty() ? 0 : 1;
}

int run(char** argv) {
  TargetOptions options;
  options.require_gpu = true;
  const Target target = resolve_target(options);
  TuneRequest request;
  request.worker = own_worker();
  request.problems = {kProblem};
  request.device = target.spec;
  request.measure = true;
  request.cuda_version = nvrtc_version();
  request.driver_version = target.driver_version;
  request.jobs = 8;
  request.seed = 1;
  request.kernels = kernel_sources(argv[2]);
  request.measure_limit = std::chrono::seconds(5);
  request.compile_limit = std::chrono::seconds(10);
  request.only = mixture(request, static_cast<std::size_t>(std::atoi(argv[3])),
                         static_cast<std::size_t>(std::atoi(argv[4])));
  Database database(argv[1], Database::Mode::create_or_open);
  database.begin_run({"faults", request.cuda_version, request.driver_version, "faults", 1});
  const TuneReport report = tune(request, database, [](const Progress&) {});
  const ProblemReport& problem = report.problems.at(0);
  std::printf("seconds %.1f, GPU worker busy %.2f, compilers %.2f\n", problem.seconds,
              problem.measurers_busy, problem.compilers_busy);
  const TuneWinner& winner = problem.winner.value();
  std::printf("winner %s %.3f us, cublasSgemm %.3f us\n", to_string(winner.config.config()).c_str(),
              winner.outcome.timing.value().median_us, winner.baselines.at(0).timing.median_us);
  return judge(database, request);
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], gemm_tune::kWorkerArgument) == 0) {
      return gemm_tune::run_worker({argv + 2, argv + argc});
    }
    if (argc == 5) return gemm_tune::run(argv);
    std::fprintf(stderr, "usage: tune_with_faults DB KERNEL_DIR HEALTHY FAULTY\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune_with_faults: %s\n", error.what());
  }
  return 2;
}
