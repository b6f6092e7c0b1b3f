// SPDX-License-Identifier: Apache-2.0
// What the tuning process spends on a search: processor time and memory of the plan, of the first
// choices and of those that follow, and which they are. No GPU and no compiler is used.
//
//   planning_cost PROBLEM [--arch sm_90] [--database FILE] [--tries 160] [--jobs 1] [--choices]
//
// The target is the card that stands for the architecture, an H100 for sm_90; times that the search
// is told are the static model's, each times a factor between 0.75 and 1.33 that follows from the
// config's text. The database is read only, as the results of earlier runs; none where it is not
// given. --choices prints every choice.
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/program.h"
#include "core/text/fnv1a.h"
#include "search/model/static_model.h"
#include "search/strategy/strategy_by_name.h"
#include "tuner/plan/plan.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double most_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double made_up_factor(const std::string& config) {
  Fnv1a hash;
  hash.add(config);
  const double share =
      static_cast<double>(std::stoull(hash.hex().substr(0, 12), nullptr, 16)) * 0x1p-48;
  return std::exp((share - 0.5) * 0.57);
}
}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  CLI::App app("Cost of a plan and of a search's choices");
  std::string problem_text, path, arch = "sm_90";
  std::size_t tries = 160, jobs = 1;
  bool prints_choices = false;
  app.add_option("problem", problem_text)->required();
  app.add_option("--arch", arch);
  app.add_option("--database", path);
  app.add_option("--tries", tries);
  app.add_option("--jobs", jobs, "as of compile processes: a quarter as many threads plan");
  app.add_flag("--choices", prints_choices);
  CLI11_PARSE(app, argc, argv);

  TuneRequest request;
  const auto device = find_device_spec(arch);
  if (!device) {
    std::fprintf(stderr, "planning_cost: '%s' is no known target: name one as in sm_90\n",
                 arch.c_str());
    return 2;
  }
  request.device = *device;
  request.measure = true;
  request.cuda_version = "13.0";
  request.budget = tries;
  request.jobs = jobs;
  request.seed = 1;
  const Problem problem = parse_problem(problem_text);
  request.problems = {problem};
  const ScratchDir folder("gemm-tune-planning-cost");
  if (path.empty()) path = folder.path() / "empty.db";
  Database database(path, Database::Mode::create_or_open);
  const Environment environment = environment_of(request);
  double before = processor_seconds();
  auto began = std::chrono::steady_clock::now();
  const auto begin_lap = [&] {
    before = processor_seconds();
    began = std::chrono::steady_clock::now();
  };
  const auto lap = [&](const char* name) {
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf("%-16s %6.2f s, %6.2f s by the wall clock, %4.0f MB at most\n", name,
                processor_seconds() - before, wall, most_memory_mb());
    begin_lap();
  };
  SpaceMemory memory;
  const ProblemResults results(database, request, environment, problem);
  const Elsewhere elsewhere = timed_elsewhere(request, problem, results, winners_below(request));
  lap("leaders");
  Plan plan = plan_problem(request, problem, results, memory, elsewhere);
  lap("plan");
  std::printf("%zu of %zu points, %zu recalled, %zu leaders\n", plan.funnel.searched,
              plan.funnel.left, plan.recalled.size(), plan.leaders.size());
  begin_lap();
  const auto strategy =
      make_strategy(plan.strategy, *plan.space, std::move(plan.prior_us), request.seed);
  for (const auto& [point, outcome] : plan.recalled) strategy->tell(point, outcome.time_us());
  Fnv1a choices;
  double best = INFINITY;
  for (std::size_t i = 0; i < tries; ++i) {
    const std::vector<std::size_t> asked = strategy->ask(i == 0 ? 16 : 1);
    if (i == 0) lap("first choices");
    for (const std::size_t point : asked) {
      const KnownConfig& config = plan.points[point];
      const std::string text = to_string(config.config());
      const double us =
          predict(config.traits, problem, request.device).time_us * made_up_factor(text);
      best = std::min(best, us);
      choices.add(text);
      if (prints_choices) std::printf("%s %.4g\n", text.c_str(), us);
      strategy->tell(point, us);
    }
  }
  lap("other choices");
  std::printf("choices %s, the best of them %.4f us\n", choices.hex().c_str(), best);
  return 0;
}
