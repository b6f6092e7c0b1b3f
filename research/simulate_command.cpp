// SPDX-License-Identifier: Apache-2.0
// gemm-tune-research simulate: how a run of many GPUs would go. tuner/cluster's scheduler in
// virtual time, with service times of a recorded run (research/cluster_recording.py writes one).
//
// Prints a row for each number of agents, and what limits it. Efficiency is the time of one agent
// over that of N agents and over N.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "research/cluster_simulation.h"
#include "research/commands.h"

namespace gemm_tune {
namespace {

struct Options {
  std::string recording;
  SimulatedCluster cluster;
  std::vector<std::size_t> agents = {1, 8, 64, 512, 4096};
  std::size_t per_gpu = 0;
  bool timeline = false;
};

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
    if (options.timeline) {
      const Timeline& at = run.first;
      std::printf(
          "        %s: planned at %.2f s, first result %.2f, search over %.2f, finals %.2f, "
          "ranked %.2f\n",
          recording.front().name.c_str(), at.planned_s, at.first_result_s, at.searched_s,
          at.finals_s, at.ranked_s);
    }
    if (run.lost_agents > 0) {
      std::printf("        %llu agents lost; of %zu tasks, %zu ended and %zu were lost\n",
                  static_cast<unsigned long long>(run.lost_agents), run.tasks_submitted,
                  run.tasks_ended, run.tasks_lost);
    }
    std::fflush(stdout);
  }
}

void run_simulate(const Options& options) {
  std::ifstream in(options.recording);
  if (!in) throw UsageError("'" + options.recording + "' cannot be read");
  print(options, read_recording(in));
}

}  // namespace

void add_simulate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  SimulatedCluster& cluster = options->cluster;
  cluster.problems = 5000;
  CLI::App* const command = app.add_subcommand(
      "simulate", "A run on many GPUs, in virtual time, with the times of a recorded run");
  command->add_option("recording", options->recording, "Of research/cluster_recording.py")
      ->required();
  command->add_option("--agents", options->agents, "Numbers of agents: a row for each")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  const auto add = [command](const std::string& name, auto& value, const char* says) {
    command->add_option("--" + name, value, says)
        ->check(CLI::Range(0.0, 1e12))
        ->capture_default_str();
  };
  add("problems", cluster.problems, "In all: the recorded ones, again and again");
  add("per-gpu", options->per_gpu,
      "Problems for each GPU in place of --problems; the time of one agent is then that of so "
      "many");
  add("problems-of-a-gpu", cluster.problems_of_a_gpu, "At once; 0: as a real run has it");
  add("compilers", cluster.compilers, "Compile processes of an agent");
  add("gpus", cluster.gpus, "Of an agent");
  add("start-s", cluster.start_s, "Of the program, until the first problem is planned");
  add("leaders", cluster.leaders,
      "The first candidates of a problem, compiled while it is planned");
  add("abandoned", cluster.abandoned, "The last ones of a problem: nobody waits for them");
  add("kernels", cluster.kernels, "That finals may hand out: each has its specialisations");
  add("specialisations-ahead", cluster.specialisations_ahead,
      "Of how many of them specialisations are begun with the finals");
  command->add_flag("--specialisations-in-turn", cluster.specialisations_in_turn,
                    "Compile and verify one specialisation after the other");
  command->add_flag("--timeline", options->timeline, "When the first problem came to its steps");
  add("cores", cluster.cores, "That rank 0's searches may use");
  add("compilations-ahead", cluster.rules.compilations_ahead, "That wait at an agent");
  add("measurements-ahead", cluster.rules.measurements_ahead, "That wait at an agent");
  add("ask-s", cluster.ask_s, "Rank 0's time for each candidate");
  add("message-s", cluster.message_s, "Rank 0's time for each message");
  add("latency-s", cluster.latency_s, "Of a message");
  add("bytes-per-s", cluster.bytes_per_s, "Of rank 0's link, each way");
  add("cubin-bytes", cluster.cubin_bytes, "Of a compiled candidate");
  add("message-bytes", cluster.message_bytes, "Of any message");
  add("losses-per-hour", cluster.losses_per_hour, "Of each agent");
  add("noticed-after-s", cluster.noticed_after_s, "Until an agent's loss is noticed");
  add("back-after-s", cluster.back_after_s, "Until a lost agent is back");
  add("stragglers", cluster.stragglers, "Share of the agents that are slow");
  add("straggler-factor", cluster.straggler_factor, "How many times as long a slow agent takes");
  command->callback([options] { run_simulate(*options); });
}

}  // namespace gemm_tune
