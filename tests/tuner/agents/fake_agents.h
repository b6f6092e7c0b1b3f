// SPDX-License-Identifier: Apache-2.0
// Agents whose workers are fakes, and a job of them: the problems, and their winners.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/agents/agent.h"
#include "tuner/agents/leader.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune::fake {

// A node with one GPU and two compilers.
inline AgentFacts facts_of(const std::string& host) {
  AgentFacts facts;
  facts.host = host;
  facts.target.spec = find_device_spec("sm_90").value();
  facts.target.measurable = true;
  facts.target.ordinals = {0};
  facts.target.driver_version = "580.1";
  facts.nvrtc_version = "13.0";
  facts.tool_version = "test";
  facts.jobs = 2;
  return facts;
}

inline std::vector<Problem> some_problems(int count) {
  std::vector<Problem> problems;
  for (int i = 1; i <= count; ++i) problems.push_back(packed_problem(1024, 1024, 512 * i));
  return problems;
}

// The job of gathered agents, all of one group. on_loss: hears the sentence of each agent that is
// gone.
inline TuneReport lead_group(
    Broker& broker, const TuneRequest& request, Database& database,
    const std::function<void(const std::string&)>& on_loss = nullptr,
    const std::function<void(const std::vector<NodeStatus>&)>& on_status = [](const auto&) {}) {
  const std::vector<AgentFacts> facts = broker.gather([](const std::vector<int>&) {});
  require_one_job(facts);
  TuneReport report;
  const std::vector<GroupWork> groups = {
      {groups_of(facts).at(0).key, request.problems.size(), [&](std::span<TaskPools* const> lanes) {
         report = tune(
             request, database, lanes, [](const Progress&) {}, nullptr);
       }}};
  lead(broker, groups, on_status, [&](const NodeStatus& lost) {
    if (on_loss) on_loss(loss_sentence(lost));
  });
  return report;
}

}  // namespace gemm_tune::fake
