// SPDX-License-Identifier: Apache-2.0
#include "research/cluster_simulation.h"

#include <limits>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

// Ten problems of 32 candidates each, about as long as those of default settings on an H100 are on
// average: 1.1 s in the compiler, 14 ms on the GPU, every tenth rejected after its compilation.
const std::vector<RecordedProblem>& recording() {
  static const std::vector<RecordedProblem> all = [] {
    std::vector<RecordedProblem> problems;
    for (std::size_t i = 0; i < 10; ++i) {
      RecordedProblem problem;
      problem.name = std::to_string(i);
      problem.plan_s = 0.7;
      problem.finals_s = 2 + 0.3 * static_cast<double>(i);
      problem.specialisations = i % 3;
      problem.specialisation_compile_s = 1;
      problem.specialisation_gpu_s = 0.01;
      for (std::size_t j = 0; j < 32; ++j) {
        const double share = static_cast<double>((7 * j + 3 * i) % 32) / 32;
        problem.tries.push_back(
            {32 * i + j, 0.6 + share, (i + j) % 10 == 0 ? 0 : 0.007 + 0.014 * share});
      }
      problems.push_back(problem);
    }
    return problems;
  }();
  return all;
}

// One machine of 16 cores, and no messages between machines.
SimulatedRun alone(std::size_t problems_at_once) {
  SimulatedCluster cluster;
  cluster.problems = recording().size();
  cluster.problems_of_a_gpu = problems_at_once;
  cluster.cores = 16;
  cluster.latency_s = cluster.message_s = 0;
  return simulate(cluster, recording());
}

// Rank 0's times are four times the default ones, for a quarter of the usual number of candidates.
SimulatedRun long_run(std::size_t agents, std::size_t problems) {
  SimulatedCluster cluster;
  cluster.agents = agents;
  cluster.problems = problems;
  cluster.ask_s *= 4;
  cluster.message_s *= 4;
  return simulate(cluster, recording());
}

// Over one agent, by problems in a second.
double efficiency(std::size_t agents, std::size_t problems, const SimulatedRun& run) {
  constexpr std::size_t kEnough = 100;
  const double alone_s = long_run(1, kEnough).makespan_s / kEnough;
  return alone_s * static_cast<double>(problems) / run.makespan_s / static_cast<double>(agents);
}

TEST(ClusterSimulationTest, OneMachineTakesAsLongAsItsCompilersAndItsFinals) {
  // 15 compilers, 32 candidates of 1.08 s on average, and nothing is compiled while plan and finals
  // of the only problem take 0.7 s and 2 s. At most one candidate more a compiler than the mean.
  SimulatedCluster cluster;
  cluster.cores = 16;
  cluster.latency_s = cluster.message_s = 0;
  std::vector<RecordedProblem> first = {recording()[0]};
  const double compile_s = 32 * 1.084 / 15;
  const double makespan_s = simulate(cluster, first).makespan_s;
  EXPECT_GT(makespan_s, 2.7 + compile_s);
  EXPECT_LT(makespan_s, 2.7 + compile_s + 1.6);
}

TEST(ClusterSimulationTest, TwoProblemsAtOnceKeepTheCompilersOfAnAgentBusier) {
  const SimulatedRun one = alone(1), two = alone(2);
  EXPECT_LT(two.makespan_s, 0.9 * one.makespan_s);
  EXPECT_GT(two.compilers_busy, one.compilers_busy);
}

// Of three at once, each with more leaders than its share of the compilers.
TEST(ClusterSimulationTest, LeadersAndAbandonedCandidatesMakeAJobShorter) {
  SimulatedCluster cluster;
  cluster.problems = recording().size();
  cluster.cores = 16;
  const double before_s = simulate(cluster, recording()).makespan_s;
  cluster.leaders = 12;
  const double with_leaders_s = simulate(cluster, recording()).makespan_s;
  EXPECT_LT(with_leaders_s, before_s);
  cluster.abandoned = 10;
  EXPECT_LT(simulate(cluster, recording()).makespan_s, with_leaders_s);
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
  const SimulatedRun sound = simulate(cluster, recording());
  cluster.losses_per_hour = 10;  // and five minutes to come back: half an agent's time
  const SimulatedRun run = simulate(cluster, recording());
  EXPECT_GT(run.lost_agents, 5U);
  EXPECT_EQ(run.tasks_ended + run.tasks_lost, run.tasks_submitted);
  EXPECT_GT(run.makespan_s, sound.makespan_s);
  EXPECT_LT(run.makespan_s, 2.5 * sound.makespan_s);
}

TEST(ClusterSimulationTest, SlowAgentsCostTheirShareOfTheSpeedAndNotMore) {
  SimulatedCluster cluster;
  cluster.agents = 8;
  cluster.problems = 300;
  const SimulatedRun even = simulate(cluster, recording());
  cluster.stragglers = 0.25;
  cluster.straggler_factor = 2;  // two agents of eight are worth one
  const SimulatedRun run = simulate(cluster, recording());
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
  cluster.ask_s = 0.1;
  const auto limit = [&] { return limit_of(cluster, simulate(cluster, recording())); };
  EXPECT_THAT(limit(), HasSubstr("rank 0's 1 cores"));
  cluster.cores = 64;
  cluster.message_s = 0.1;
  EXPECT_THAT(limit(), HasSubstr("broker"));
  cluster.message_s = 0;
  EXPECT_THAT(limit(), HasSubstr("the end"));
  cluster.agents = 1;
  cluster.compilers = 2;
  EXPECT_THAT(limit(), HasSubstr("compilers"));
}

TEST(ClusterSimulationTest, AClusterWithoutAgentsIsRefused) {
  SimulatedCluster cluster;
  cluster.agents = 0;
  EXPECT_THROW(simulate(cluster, recording()), UsageError);
}

TEST(ClusterSimulationTest, AClusterWithoutALinkOrWithEndlessTimesIsRefused) {
  SimulatedCluster without_link;
  without_link.bytes_per_s = 0;
  EXPECT_THROW(simulate(without_link, recording()), UsageError);
  SimulatedCluster endless;
  endless.latency_s = std::numeric_limits<double>::infinity();
  EXPECT_THROW(simulate(endless, recording()), UsageError);
  SimulatedCluster of_more_stragglers_than_agents;
  of_more_stragglers_than_agents.stragglers = 2;
  EXPECT_THROW(simulate(of_more_stragglers_than_agents, recording()), UsageError);
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
