// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/shares.h"

#include <numeric>

#include "tests/matchers.h"
#include "tests/tuner/agents/fake_agents.h"

namespace gemm_tune {
namespace {

// An agent that sees these GPUs of its machine, in this order.
AgentFacts seeing(const std::vector<std::string>& uuids, std::vector<int> cpus = {}) {
  AgentFacts facts = fake::facts_of("node");
  facts.target.uuids = uuids;
  facts.target.ordinals.resize(uuids.size());
  std::iota(facts.target.ordinals.begin(), facts.target.ordinals.end(), 0);
  facts.cpus = std::move(cpus);
  return facts;
}

std::vector<std::vector<int>> ordinals_of(std::vector<AgentFacts> agents) {
  deal_out(agents);
  std::vector<std::vector<int>> all;
  for (const AgentFacts& one : agents) {
    EXPECT_EQ(one.target.uuids.size(), one.target.ordinals.size());
    all.push_back(one.target.ordinals);
  }
  return all;
}

std::vector<std::size_t> jobs_of(std::vector<AgentFacts> agents) {
  deal_out(agents);
  std::vector<std::size_t> all;
  for (const AgentFacts& one : agents) all.push_back(one.jobs);
  return all;
}

std::vector<int> cpus(int first, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

using None = std::vector<int>;

TEST(SharesTest, FourAgentsThatSeeFourGpusGetOneEachInTheirOrder) {
  const std::vector<AgentFacts> agents(4, seeing({"a", "b", "c", "d"}));
  EXPECT_THAT(ordinals_of(agents), ElementsAre(None{0}, None{1}, None{2}, None{3}));
}

TEST(SharesTest, OneAgentKeepsAllGpusAndTwoShareThemEvenly) {
  const AgentFacts one = seeing({"a", "b", "c", "d"});
  EXPECT_THAT(ordinals_of({one}), ElementsAre(None{0, 1, 2, 3}));
  EXPECT_THAT(ordinals_of({one, one}), ElementsAre(None{0, 2}, None{1, 3}));
}

TEST(SharesTest, AnAgentForWhichNoGpuIsLeftHasNoneAndTheFirstHasOne) {
  EXPECT_THAT(ordinals_of({seeing({"a"}), seeing({"a"}), seeing({"a"})}),
              ElementsAre(None{0}, None{}, None{}));
}

TEST(SharesTest, AGpuThatOneAgentSeesAloneIsItsOwnWhateverItsNumber) {
  // Each by CUDA_VISIBLE_DEVICES.
  EXPECT_THAT(ordinals_of({seeing({"a"}), seeing({"b"})}), ElementsAre(None{0}, None{0}));
  // The first has a choice, the second has none.
  EXPECT_THAT(ordinals_of({seeing({"a", "b"}), seeing({"a"})}), ElementsAre(None{1}, None{0}));
  // Of another numbering.
  EXPECT_THAT(ordinals_of({seeing({"a", "b"}), seeing({"b", "a"})}), ElementsAre(None{0}, None{0}));
}

TEST(SharesTest, AGpuWithoutAUuidIsTakenFromNobody) {
  EXPECT_THAT(ordinals_of({seeing({""}), seeing({""})}), ElementsAre(None{0}, None{0}));
}

TEST(SharesTest, AnAgentThatFailedGetsNoGpu) {
  AgentFacts failed = seeing({"a"});
  failed.failure = "no NVRTC";
  EXPECT_THAT(ordinals_of({failed, seeing({"a"})}).at(1), ElementsAre(0));
}

TEST(SharesTest, AgentsWithTheSameCpusHaveTheCompileProcessesOfOneAgent) {
  const AgentFacts on_all = seeing({"a", "b"}, cpus(0, 16));
  EXPECT_THAT(jobs_of({on_all}), ElementsAre(14));
  EXPECT_THAT(jobs_of({on_all, on_all}), ElementsAre(7, 7));
  EXPECT_THAT(jobs_of({on_all, on_all, on_all}), ElementsAre(5, 5, 4));
  EXPECT_THAT(jobs_of(std::vector(20, on_all)), testing::Each(1));
}

TEST(SharesTest, AgentsWithCpusOfTheirOwnOrANumberOfJobsKeepTheirs) {
  EXPECT_THAT(jobs_of({seeing({"a"}, cpus(0, 8)), seeing({"b"}, cpus(8, 8))}), ElementsAre(7, 7));
  AgentFacts asked = seeing({"a", "b"});
  asked.jobs = 12;
  EXPECT_THAT(jobs_of({asked, asked}), ElementsAre(12, 12));
}

// An agent of this kernel on a host of this name, with the first CPUs.
AgentFacts on(const std::string& boot_id, const std::string& host, std::vector<int> its) {
  AgentFacts facts = seeing({boot_id + host}, std::move(its));
  facts.boot_id = boot_id;
  facts.host = host;
  return facts;
}

TEST(SharesTest, ContainersOfOneMachineShareItsCpusWhateverTheirNames) {
  EXPECT_THAT(jobs_of({on("x", "c1", cpus(0, 8)), on("x", "c2", cpus(0, 8))}), ElementsAre(3, 3));
  // Where they overlap: each CPU goes to one of the two.
  EXPECT_THAT(jobs_of({on("x", "c1", cpus(0, 8)), on("x", "c2", cpus(0, 16))}), ElementsAre(6, 8));
  EXPECT_THAT(jobs_of({on("x", "c1", cpus(0, 8)), on("x", "c2", cpus(4, 8))}), ElementsAre(5, 5));
}

TEST(SharesTest, MachinesOfOneNameShareNothing) {
  EXPECT_THAT(jobs_of({on("x", "node", cpus(0, 8)), on("y", "node", cpus(0, 8))}),
              ElementsAre(7, 7));
  // Where the kernel is unknown, the name decides.
  EXPECT_THAT(jobs_of({on("", "a", cpus(0, 8)), on("", "b", cpus(0, 8))}), ElementsAre(7, 7));
  EXPECT_THAT(jobs_of({on("", "a", cpus(0, 8)), on("", "a", cpus(0, 8))}), ElementsAre(4, 3));
}

// As mpirun binds ranks by default.
TEST(SharesTest, AMachineOfWhoseCpusAgentsMayUseLessThanHalfIsNamed) {
  const auto with = [](std::vector<int> allowed, int of_machine) {
    AgentFacts facts = seeing({"a"}, std::move(allowed));
    facts.cpus_of_machine = of_machine;
    return facts;
  };
  const auto notes = [](const std::vector<AgentFacts>& agents) { return few_cpus_notes(agents); };
  EXPECT_THAT(notes({with({3}, 64)}), ElementsAre(testing::StartsWith(
                                          "1 of the 64 CPUs of node may be used, and all "
                                          "compilations there share it: mpirun --bind-to none")));
  EXPECT_THAT(notes({with({3}, 64), with({4}, 64)}),
              ElementsAre(testing::StartsWith("2 of the 64 CPUs of node may be used")));
  EXPECT_THAT(notes({with(cpus(0, 32), 64)}), ElementsAre());
  EXPECT_THAT(notes({with(cpus(0, 16), 64), with(cpus(16, 16), 64)}), ElementsAre());
  EXPECT_THAT(notes({with({}, 64)}), ElementsAre());  // --jobs says how many
}

}  // namespace
}  // namespace gemm_tune
