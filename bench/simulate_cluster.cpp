// SPDX-License-Identifier: Apache-2.0
// How a run of many GPUs would go: tuner/cluster's scheduler in virtual time, with service times of
// a recorded run (bench/cluster_recording.py writes one).
//
// usage: simulate_cluster RECORDING [NAME=VALUE]... [agents=1,8,64,512,4096]
//
// Prints a row for each number of agents, and what limits it. The names are those of
// bench/cluster_simulation.h's SimulatedCluster. Efficiency is the time of one agent over that of N
// agents and over N. per_gpu=P: P problems for each GPU in place of `problems` in all; the time of
// one agent is then that of P problems on it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bench/cluster_simulation.h"
#include "core/error.h"

namespace {

using namespace gemm_tune;

struct Options {
  SimulatedCluster cluster;
  std::vector<std::size_t> agents = {1, 8, 64, 512, 4096};
  std::size_t per_gpu = 0;
};

double number_of(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) {
    throw UsageError(name + " needs a number from 0 on, not '" + text + "'");
  }
  return value;
}

std::size_t count_of(const std::string& name, const std::string& text) {
  const double value = number_of(name, text);
  if (value != std::floor(value) || value > 1e9) {
    throw UsageError(name + " needs a whole number of at most 10^9, not '" + text + "'");
  }
  return static_cast<std::size_t>(value);
}

void set(Options& options, const std::string& name, const std::string& text) {
  SimulatedCluster& cluster = options.cluster;
  const std::map<std::string, double*> reals = {
      {"ask_s", &cluster.ask_s},
      {"message_s", &cluster.message_s},
      {"latency_s", &cluster.latency_s},
      {"bytes_per_s", &cluster.bytes_per_s},
      {"cubin_bytes", &cluster.cubin_bytes},
      {"message_bytes", &cluster.message_bytes},
      {"losses_per_hour", &cluster.losses_per_hour},
      {"noticed_after_s", &cluster.noticed_after_s},
      {"back_after_s", &cluster.back_after_s},
      {"stragglers", &cluster.stragglers},
      {"straggler_factor", &cluster.straggler_factor},
  };
  const std::map<std::string, std::size_t*> counts = {
      {"compilers", &cluster.compilers},
      {"gpus", &cluster.gpus},
      {"problems", &cluster.problems},
      {"cores", &cluster.cores},
      {"problems_of_a_gpu", &cluster.problems_of_a_gpu},
      {"per_gpu", &options.per_gpu},
      {"compilations_ahead", &cluster.rules.compilations_ahead},
      {"measurements_ahead", &cluster.rules.measurements_ahead},
  };
  if (name == "agents") {
    options.agents.clear();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      options.agents.push_back(count_of(name, text.substr(begin, end - begin)));
      begin = end + 1;
    }
  } else if (const auto real = reals.find(name); real != reals.end()) {
    *real->second = number_of(name, text);
  } else if (const auto count = counts.find(name); count != counts.end()) {
    *count->second = count_of(name, text);
  } else {
    throw UsageError("there is no option '" + name + "'; the names are in the first comment");
  }
}

void print(const Options& options, const std::vector<RecordedProblem>& recording) {
  std::printf("%7s %9s %11s %6s %9s %5s %7s %6s %5s %10s %8s  %s\n", "agents", "problems",
              "makespan", "effic.", "compilers", "GPUs", "cores", "broker", "link", "messages",
              "GB", "limited by");
  std::map<std::size_t, double> alone_s;  // by number of problems
  for (const std::size_t agents : options.agents) {
    SimulatedCluster cluster = options.cluster;
    cluster.agents = 1;
    const std::size_t in_all =
        options.per_gpu > 0 ? options.per_gpu * cluster.gpus * agents : cluster.problems;
    cluster.problems = options.per_gpu > 0 ? options.per_gpu * cluster.gpus : in_all;
    double& alone = alone_s[cluster.problems];
    if (alone == 0) alone = simulate(cluster, recording).makespan_s;
    const double work = alone * static_cast<double>(in_all) / static_cast<double>(cluster.problems);
    cluster.agents = agents;
    cluster.problems = in_all;
    const SimulatedRun run = simulate(cluster, recording);
    std::printf(
        "%7zu %9zu %9.0f s %6.3f %8.0f%% %4.0f%% %6.1f%% %5.1f%% %4.1f%% %10llu %8.2f  %s\n",
        agents, in_all, run.makespan_s, work / run.makespan_s / static_cast<double>(agents),
        100 * run.compilers_busy, 100 * run.gpus_busy, 100 * run.cores_busy, 100 * run.broker_busy,
        100 * run.link_busy, static_cast<unsigned long long>(run.messages), run.bytes / 1e9,
        limit_of(cluster, run).c_str());
    if (run.lost_agents > 0) {
      std::printf("        %llu agents lost; of %zu tasks, %zu ended and %zu were lost\n",
                  static_cast<unsigned long long>(run.lost_agents), run.tasks_submitted,
                  run.tasks_ended, run.tasks_lost);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    options.cluster.problems = 5000;
    if (argc < 2) throw UsageError("usage: simulate_cluster RECORDING [NAME=VALUE]...");
    std::ifstream in(argv[1]);
    if (!in) throw UsageError("'" + std::string(argv[1]) + "' cannot be read");
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw UsageError("'" + word + "' is not NAME=VALUE");
      set(options, word.substr(0, equals), word.substr(equals + 1));
    }
    print(options, read_recording(in));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "simulate_cluster: %s\n", error.what());
    return 2;
  }
}
