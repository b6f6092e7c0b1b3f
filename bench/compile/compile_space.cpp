// SPDX-License-Identifier: Apache-2.0
// Compiles a sample of the search space: for each architecture at least COUNT configs drawn evenly,
// and further configs until every pair of parameter values occurs once. For a family with more than
// a million points, the pairs are those in a million random points.
//
//   compile_space [ARCH...] [--count 2000] [--processes N] [--configs FILE] [--each]
//
// Default targets: sm_80, sm_86, sm_89, sm_90, sm_120. With --configs the sample is the list in
// FILE: a config's text on each line; what follows a space on it is ignored, so that the output of
// planning_cost --choices will do. --each prints a line for each compiled config: registers as
// estimated, as compiled, bytes spilled. Needs no GPU. Exits with 1 if a config that the rules
// allow does not compile, or if 5 % or more are rejected only after compiling.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program.h"
#include "core/usable_cpus.h"
#include "search/space/cover.h"
#include "search/space/space.h"
#include "tuner/plan/filter.h"
#include "tuner/work/own_worker.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::chrono::seconds kCompileLimit{60};
constexpr double kMostRejectedLate = 0.05;

// By layout, NN, NT, TN, TT.
using Counts = std::array<std::size_t, 4>;

struct Tally {
  Counts drawn{}, compiled{};
  std::map<std::string, Counts> rejected_early, rejected_late, failed;  // by reason
};

std::size_t sum(const Counts& counts) { return counts[0] + counts[1] + counts[2] + counts[3]; }

std::size_t sum(const std::map<std::string, Counts>& reasons) {
  std::size_t all = 0;
  for (const auto& [reason, counts] : reasons) all += sum(counts);
  return all;
}

std::size_t layout_of(const KnownConfig& config) {
  return static_cast<std::size_t>(config.recipe.layout);
}

// A problem that asks of a config nothing but what the device grants.
Problem fitting_problem(const KnownConfig& config) {
  const Traits& t = config.traits;
  Problem problem = packed_problem(8 * t.tile_m, 8 * t.tile_n, 64 * t.tile_k, config.recipe.layout,
                                   1, t.signature);
  problem.batch_kind = t.batch_kind;
  return problem;
}

// Of every family all points, or an even sample where they would not fit in memory.
Space thinned_space() {
  Space space;
  for (const KernelFamily& family : families()) {
    Space part = enumerate({&family}, {}, nullptr, {.seed = kSeed});
    space.enumerated += part.enumerated;
    for (std::size_t i = 0; i < part.points.size(); ++i) {
      const auto values = part.points.values(i);
      space.points.add(family, std::vector<int>(values.begin(), values.end()));
    }
  }
  return space;
}

std::vector<KnownConfig> choose(const Space& space, std::size_t count) {
  std::vector<std::size_t> chosen = cover_pairs(space.points, kSeed);
  const std::size_t covering = chosen.size();
  const auto drawn = draw_evenly(space.points.size(), count, kSeed);
  chosen.insert(chosen.end(), drawn.begin(), drawn.end());
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::printf(
      "%zu configs of %zu points of %llu: %zu drawn evenly, %zu that have "
      "every pair of values\n",
      chosen.size(), space.points.size(), static_cast<unsigned long long>(space.enumerated),
      drawn.size(), covering);
  std::vector<KnownConfig> configs;
  for (const std::size_t i : chosen) configs.push_back(space.points[i]);
  return configs;
}

std::vector<KnownConfig> listed(const std::string& path) {
  std::vector<KnownConfig> configs;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const std::string text = line.substr(0, line.find(' '));
    if (text.find('/') != std::string::npos) configs.push_back(check_config(parse_config(text)));
  }
  std::printf("%zu configs of %s\n", configs.size(), path.c_str());
  return configs;
}

void judge(const KnownConfig& config, const DeviceSpec& device, const TaskResult& result,
           bool prints, Tally& tally) {
  const std::size_t layout = layout_of(config);
  const auto fail = [&](const std::string& reason) {
    ++tally.failed[reason][layout];
    std::printf("  %s: %s\n", to_string(config.config()).c_str(), reason.c_str());
  };
  if (result.status != TaskResult::Status::reply) return fail(result.detail);
  const auto reply = result.reply.get<CompileReply>();
  if (!reply.ok) return fail(reply.log);
  const auto reason = reject_after_compile(complete_resources(reply.resources, config, device));
  if (prints) {
    std::printf("  %d %d %d %s\n", config.traits.registers_estimate, reply.resources.registers,
                reply.resources.spill_bytes, to_string(config.config()).c_str());
  }
  ++(reason ? tally.rejected_late[config.family->name + ": " + *reason] : tally.compiled)[layout];
}

Tally compile_all(const std::vector<KnownConfig>& configs, const DeviceSpec& device, bool prints,
                  WorkerPool& pool) {
  Tally tally;
  for (const KnownConfig& config : configs) {
    ++tally.drawn[layout_of(config)];
    if (const auto reason = reject_before_compile(config, fitting_problem(config), device)) {
      ++tally.rejected_early[std::string(*reason)][layout_of(config)];
      continue;
    }
    if (would_spill(config, device)) {
      ++tally.rejected_early["would spill, by the estimate of its registers"][layout_of(config)];
      continue;
    }
    const CompileRequest request{to_string(config.config()), device.arch};
    pool.submit({"compile", request, kCompileLimit, false, [&, prints](const TaskResult& result) {
                   judge(config, device, result, prints, tally);
                 }});
  }
  while (pool.pending() > 0) WorkerPool::wait({&pool}, std::chrono::seconds(1));
  return tally;
}

void show(const char* what, const Counts& counts) {
  std::printf("  %-80s %6zu %6zu %6zu %6zu %6zu\n", what, sum(counts), counts[0], counts[1],
              counts[2], counts[3]);
}

void show(const char* what, const std::map<std::string, Counts>& reasons) {
  for (const auto& [reason, counts] : reasons) show((what + (": " + reason)).c_str(), counts);
}

// Whether the space is as good as it should be.
bool show(const std::string& arch, const Tally& tally, double seconds) {
  const std::size_t drawn = sum(tally.drawn), late = sum(tally.rejected_late);
  std::printf("%s, %.0f s\n  %-80s %6s %6s %6s %6s %6s\n", arch.c_str(), seconds, "", "all", "nn",
              "nt", "tn", "tt");
  show("configs", tally.drawn);
  show("compiled", tally.compiled);
  show("rejected before compiling", tally.rejected_early);
  show("rejected once compiled", tally.rejected_late);
  show("failed", tally.failed);
  const double share = drawn == 0 ? 0 : static_cast<double>(late) / static_cast<double>(drawn);
  std::printf("  rejected only once compiled: %.1f %%; failed: %zu\n", 100 * share,
              sum(tally.failed));
  std::fflush(stdout);
  return tally.failed.empty() && share < kMostRejectedLate;
}

struct Options {
  std::vector<std::string> archs{"sm_80", "sm_86", "sm_89", "sm_90", "sm_120"};
  std::size_t count = 2000, processes = usable_cpus();
  std::string configs;
  bool each = false;
};

int run(const Options& o) {
  const std::vector<KnownConfig> configs =
      o.configs.empty() ? choose(thinned_space(), o.count) : listed(o.configs);
  WorkerPool pool(std::vector<WorkerCommand>(o.processes, compile_worker(own_worker())));
  bool good = true;
  for (const std::string& arch : o.archs) {
    const auto device = find_device_spec(arch);
    if (!device) throw UsageError("'" + arch + "' is no known target: name one as in sm_90");
    const auto start = std::chrono::steady_clock::now();
    const Tally tally = compile_all(configs, *device, o.each, pool);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    good = show(arch, tally, taken.count()) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    return run_worker({argv + 2, argv + argc});
  }
  CLI::App app("Whether a sample of the search space compiles");
  Options options;
  app.add_option("ARCH", options.archs);
  app.add_option("--count", options.count, "Configs to draw");
  app.add_option("--processes", options.processes)->check(CLI::PositiveNumber);
  app.add_option("--configs", options.configs, "The sample")->check(CLI::ExistingFile);
  app.add_flag("--each", options.each, "A line for each config");
  parse_or_exit(app, argc, argv);
  return exit_code_of("compile_space", [&] { return run(options); });
}
