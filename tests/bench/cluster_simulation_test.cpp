// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::vector<RecordedProblem>& h100() {
  static const std::vector<RecordedProblem> recording = [] {
    std::ifstream in(GT_CLUSTER_RECORDING);
    return read_recording(in);
  }();
  return recording;
}

// The machine of the recorded runs: 16 cores, and no messages between machines.
SimulatedRun alone(const std::vector<RecordedProblem>& recording, std::size_t problems_at_once) {
  SimulatedCluster cluster;
  cluster.problems = recording.size();
  cluster.problems_of_a_gpu = problems_at_once;
  cluster.cores = 16;
  cluster.latency_s = cluster.message_s = 0;
  return simulate(cluster, recording);
}

// A quarter of the candidates, each with the work of four: a test of all takes 10 s.
constexpr std::size_t kThinner = 4;
std::vector<RecordedProblem> thinned(std::vector<RecordedProblem> recording) {
  for (RecordedProblem& problem : recording) {
    std::vector<RecordedProblem::Try> fewer;
    for (std::size_t i = 0; i < problem.tries.size(); i += kThinner) {
      fewer.push_back(problem.tries[i]);
      fewer.back().compile_s *= kThinner;
      fewer.back().gpu_s *= kThinner;
    }
    problem.tries = std::move(fewer);
  }
  return recording;
}

SimulatedRun long_run(std::size_t agents, std::size_t problems) {
  SimulatedCluster cluster;
  cluster.agents = agents;
  cluster.problems = problems;
  cluster.ask_s *= kThinner;
  cluster.message_s *= kThinner;
  return simulate(cluster, thinned(h100()));
}

// Over one agent, by problems in a second.
double efficiency(std::size_t agents, std::size_t problems, const SimulatedRun& run) {
  constexpr std::size_t kEnough = 136;
  const double alone_s = long_run(1, kEnough).makespan_s / kEnough;
  return alone_s * static_cast<double>(problems) / run.makespan_s / static_cast<double>(agents);
}

TEST(ClusterSimulationTest, AgreesWithTheRecordedRunsWithinATenth) {
  ASSERT_THAT(h100(), SizeIs(34));
  const std::vector<RecordedProblem> first(h100().begin(), h100().begin() + 17);
  const std::vector<RecordedProblem> second(h100().begin() + 17, h100().end());
  EXPECT_NEAR(alone(first, 1).makespan_s, 279, 28);
  EXPECT_NEAR(alone(second, 1).makespan_s, 229, 23);
}

TEST(ClusterSimulationTest, TwoProblemsAtOnceKeepTheCompilersOfAnAgentBusier) {
  const SimulatedRun one = alone(h100(), 1), two = alone(h100(), 2);
  EXPECT_LT(two.makespan_s, 0.9 * one.makespan_s);
  EXPECT_GT(two.compilers_busy, one.compilers_busy);
}

TEST(ClusterSimulationTest, EightAgentsTune640ProblemsAtAnEfficiencyOfNineTenths) {
  const SimulatedRun run = long_run(8, 640);
  EXPECT_GE(efficiency(8, 640, run), 0.9);
  EXPECT_EQ(run.tasks_ended, run.tasks_submitted);
}

TEST(ClusterSimulationTest, SixtyFourAgentsTune5000ProblemsAtAnEfficiencyOfNineTenths) {
  const SimulatedRun run = long_run(64, 5000);
  EXPECT_GE(efficiency(64, 5000, run), 0.9);
  EXPECT_LT(run.cores_busy, 0.9);
  EXPECT_LT(run.broker_busy, 0.9);
  EXPECT_EQ(run.tasks_ended, run.tasks_submitted);
}

TEST(ClusterSimulationTest, EveryTaskEndsThoughAgentsAreLost) {
  SimulatedCluster cluster;
  cluster.agents = 8;
  cluster.problems = 300;
  const SimulatedRun sound = simulate(cluster, h100());
  cluster.losses_per_hour = 10;  // and five minutes to come back: half an agent's time
  const SimulatedRun run = simulate(cluster, h100());
  EXPECT_GT(run.lost_agents, 5U);
  EXPECT_EQ(run.tasks_ended + run.tasks_lost, run.tasks_submitted);
  EXPECT_GT(run.makespan_s, sound.makespan_s);
  EXPECT_LT(run.makespan_s, 2.5 * sound.makespan_s);
}

TEST(ClusterSimulationTest, SlowAgentsCostTheirShareOfTheSpeedAndNotMore) {
  SimulatedCluster cluster;
  cluster.agents = 8;
  cluster.problems = 300;
  const SimulatedRun even = simulate(cluster, h100());
  cluster.stragglers = 0.25;
  cluster.straggler_factor = 2;  // two agents of eight are worth one
  const SimulatedRun run = simulate(cluster, h100());
  EXPECT_LT(run.makespan_s, 1.1 * 8 / 7 * even.makespan_s);
}

TEST(ClusterSimulationTest, BytesOfACubinTravelOnceToAnAgent) {
  // One agent: all that it compiles comes to rank 0, and nothing goes back.
  SimulatedCluster cluster;
  cluster.problems = 4;
  cluster.message_bytes = 0;
  cluster.cubin_bytes = 1;
  std::istringstream in(
      "problem a 0.1 1 3 0.5 0.01\n"
      "try 0 0.5 0.01\ntry 1 0.5 0.01\ntry 1 0.5 0.01\ntry 2 0.5 0\n");
  EXPECT_EQ(simulate(cluster, read_recording(in)).bytes, 4 * (3 + 3));
}

TEST(ClusterSimulationTest, NamesWhatLimits) {
  SimulatedCluster cluster;
  cluster.agents = 16;
  cluster.problems = 100;
  cluster.cores = 1;
  const auto limit = [&] { return limit_of(cluster, simulate(cluster, h100())); };
  EXPECT_THAT(limit(), HasSubstr("rank 0's 1 cores"));
  cluster.cores = 64;
  cluster.message_s = 0.01;
  EXPECT_THAT(limit(), HasSubstr("broker"));
  cluster.message_s = 0;
  EXPECT_THAT(limit(), HasSubstr("the end"));
  cluster.agents = 1;
  EXPECT_THAT(limit(), HasSubstr("compilers"));
}

TEST(ClusterSimulationTest, AClusterWithoutAgentsIsRefused) {
  SimulatedCluster cluster;
  cluster.agents = 0;
  EXPECT_THROW(simulate(cluster, h100()), UsageError);
}

TEST(ClusterSimulationTest, AClusterWithoutALinkOrWithEndlessTimesIsRefused) {
  SimulatedCluster without_link;
  without_link.bytes_per_s = 0;
  EXPECT_THROW(simulate(without_link, h100()), UsageError);
  SimulatedCluster endless;
  endless.latency_s = std::numeric_limits<double>::infinity();
  EXPECT_THROW(simulate(endless, h100()), UsageError);
  SimulatedCluster of_more_stragglers_than_agents;
  of_more_stragglers_than_agents.stragglers = 2;
  EXPECT_THROW(simulate(of_more_stragglers_than_agents, h100()), UsageError);
}

TEST(ClusterSimulationTest, ARecordingWithAnUnsoundLineIsRefusedByItsNumber) {
  const auto refusal = [](const std::string& text) -> std::string {
    std::istringstream in(text);
    try {
      read_recording(in);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const std::string sound = "# a comment\nproblem a 0.1 1 3 0.5 0.01\ntry 0 0.5 0.01\n";
  EXPECT_EQ(refusal(sound), "");
  EXPECT_THAT(refusal(""), HasSubstr("no problem"));
  EXPECT_THAT(refusal("try 0 1 1\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(sound + "try 0 -1 1\n"), HasSubstr("line 4"));
  EXPECT_THAT(refusal(sound + "try 0 1 1 1\n"), HasSubstr("line 4"));
  EXPECT_THAT(refusal(sound + "problem b 1 1\n"), HasSubstr("line 4"));
  EXPECT_THAT(refusal(sound + "problem b 0.1 1 3 0.5 0.01\n"), HasSubstr("candidate of 'b'"));
}

}  // namespace
}  // namespace gemm_tune
