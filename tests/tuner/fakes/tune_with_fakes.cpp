// SPDX-License-Identifier: Apache-2.0
// A run with fake workers as a program of its own, to be killed or stopped. usage: tune_with_fakes
// DB LOG CONFIGS [MODE [PROGRESS]]. CONFIGS: a file with a config on each line, all of them
// healthy; MODE: of fake_candidate_worker; PROGRESS: kills its process group when it is told of its
// progress for the so-manieth time. By its clock, a stop lasts an hour. Prints the winner, and how
// many candidates were tried again.
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/tuner/fakes/fake_tuning.h"

namespace {

std::atomic<int> stops = 0;

}  // namespace

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc < 4) return 2;
  std::vector<KnownConfig> configs;
  std::ifstream in(argv[3]);
  for (std::string line; std::getline(in, line);) {
    configs.push_back(check_config(parse_config(line)));
  }
  signal(SIGCONT, [](int) { ++stops; });
  RunningTime running(
      [] { return std::chrono::steady_clock::now() + stops.load() * std::chrono::hours(1); });
  TuneRequest request = fake::request_of(std::move(configs), argv[2], argc > 4 ? argv[4] : "");
  request.worker_clock = [&](pid_t) { return running.now(); };
  request.compile_limit = request.measure_limit = std::chrono::minutes(30);
  const int last = argc > 5 ? std::atoi(argv[5]) : 0;
  int told = 0;
  const TuneReport report = fake::tune_into(argv[1], request, [&](const Progress&) {
    if (++told == last) kill(0, SIGKILL);
  });
  const ProblemReport& problem = report.problems.at(0);
  std::printf("%s, %zu tried again\n", to_string(problem.winner.value().config.config()).c_str(),
              problem.funnel.retried);
  return 0;
}
