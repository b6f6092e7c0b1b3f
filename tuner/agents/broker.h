// SPDX-License-Identifier: Apache-2.0
// The leader's side of a job of many agents: takes the tasks of the searches, hands them to the
// agents as tuner/cluster/scheduler.h says, and brings each result back to its search.
//
// A search runs in a lane (tuner/job/tune.h), a thread of its own; its tasks and their results
// cross to the thread of serve(), which alone talks with the agents. An agent that is lost, silent
// or overdue costs nothing but time: its tasks are given out again. So do the tasks of an agent
// whose environment fails, which is dismissed. Where a group has no agent left, its searches fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/agents/messages.h"
#include "tuner/agents/transport.h"
#include "tuner/cluster/scheduler.h"
#include "tuner/process/interruption.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

// One agent, for a table of them.
struct NodeStatus {
  std::string host, device;
  std::size_t compilers_busy = 0, compilers = 0;
  std::size_t gpus_busy = 0, gpus = 0;
  std::size_t measured = 0, compiled = 0;  // answers of its GPUs and of its compilers
  std::string gone;                        // why it is there no more; usually empty
  int peer = 0;                            // its number on its transport: over MPI, its rank
};

// "the agent of rank 2 on node7 serves no more: it did not answer in time": of one that is gone.
// Pure.
std::string loss_sentence(const NodeStatus& node);

// "rank 3", "ranks 1, 4-6 and 9": for a sentence. Pure.
std::string ranks_text(const std::vector<int>& ranks);

class Broker {
 public:
  // The transports reach the agents and outlive this object.
  Broker(std::vector<Transport*> transports, const Interruption& interruption,
         const SchedulerRules& rules = {});
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Waits until every agent has said hello or is lost, gives each of the former its share of their
  // machine (tuner/agents/shares.h), and returns their facts with no more than that. on_wait is
  // called in every interval with the numbers of the peers that have said nothing. Those that have
  // said nothing within `limit` are lost: on_loss of serve() hears of them. Ends early where
  // interrupted.
  std::vector<AgentFacts> gather(
      const std::function<void(const std::vector<int>& missing)>& on_wait,
      std::chrono::milliseconds interval = std::chrono::seconds(10),
      std::chrono::milliseconds limit = std::chrono::minutes(5));

  // The workers of a group's searches, as many lanes of tune() as should run at once. Call it
  // before serve(). A lane lasts until TaskPools::finished(), which tune() calls.
  std::vector<std::shared_ptr<TaskPools>> lanes(const GroupKey& group, std::size_t problems);

  // Serves the lanes until `is_over`, which is asked whenever something happens; wake() is such a
  // thing. on_status is called several times a second, and at the end; on_loss once for each agent
  // that is gone, whoever ended it.
  void serve(const std::function<bool()>& is_over,
             const std::function<void(const std::vector<NodeStatus>&)>& on_status,
             const std::function<void(const NodeStatus&)>& on_loss);

  // Leaves a call to the thread of serve(), which makes it soon, at its own end at the latest, and
  // in this order: output is of one thread, and no search waits for it. serve() throws the first
  // exception of a call once it is over, and makes no further calls; call_soon() throws from then
  // on, so that a search ends. Any thread.
  void call_soon(std::function<void()> call);

  // Any thread.
  void wake();

  // Tells all agents that the job is over.
  void end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
