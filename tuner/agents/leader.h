// SPDX-License-Identifier: Apache-2.0
// The job of many agents as a whole: whether they may work together, their groups, and the searches
// of each group beside one another.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tuner/agents/broker.h"
#include "tuner/agents/messages.h"
#include "tuner/work/gpu_share.h"
#include "tuner/work/worker_process.h"

namespace gemm_tune {

// Throws where these agents cannot work in one job, with a sentence that names ranks or hosts, and
// every failure: UsageError where an agent has bad options, else DeviceError. Times under two
// drivers, and kernels of two compilers, cannot be compared.
void require_one_job(std::span<const AgentFacts> agents);

// The agents' groups, each with the facts of its first agent, in the order of the keys.
struct AgentGroup {
  GroupKey key;
  AgentFacts facts;
  std::size_t agents = 0;
};
std::vector<AgentGroup> groups_of(std::span<const AgentFacts> agents);

// A group's work: calls tune() with the lanes, in a thread of its own.
struct GroupWork {
  GroupKey key;
  std::size_t problems = 0;
  std::function<void(std::span<TaskPools* const> lanes)> run;
};

// Does the work of all groups; on_status, on_loss: as of Broker::serve(). Throws what a call of
// call_soon() threw, else what the first of the groups threw, once all have ended.
void lead(Broker& broker, std::span<const GroupWork> groups,
          const std::function<void(const std::vector<NodeStatus>&)>& on_status,
          const std::function<void(const NodeStatus&)>& on_loss);

// Calls `work` with a broker of an agent on this machine, in a thread beside, and of the agents
// that `others` reaches, if any; tells all agents at the end that the job is over, also where
// `work` throws. find_facts, worker, clock, share: of the agent here, as of serve_as_agent().
void with_own_agent(const std::function<AgentFacts()>& find_facts, const WorkerCommand& worker,
                    Transport* others, const Interruption& interruption,
                    const std::function<void(Broker&)>& work, const WorkerClock& clock = nullptr,
                    const GpuShare& share = {});

}  // namespace gemm_tune
