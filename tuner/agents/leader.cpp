// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/leader.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tuner/agents/agent.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

std::string differ(const std::string& subject, const AgentFacts& first, const std::string& firsts,
                   const AgentFacts& other, const std::string& others, const std::string& remedy) {
  return subject + " of the job's agents differ: " + firsts + " on " + first.host + ", " + others +
         " on " + other.host + ": " + remedy;
}

std::string name_of(const AgentFacts& agent) {
  return "the agent of " + ranks_text({agent.peer}) + " on " + agent.host;
}

// Each failure once, with the agents that have it, in the order of the first of those.
std::string failures_of(std::span<const AgentFacts> agents) {
  std::vector<std::pair<std::string, std::vector<const AgentFacts*>>> failures;
  for (const AgentFacts& one : agents) {
    if (one.failure.empty()) continue;
    auto same = std::find_if(failures.begin(), failures.end(),
                             [&](const auto& known) { return known.first == one.failure; });
    if (same == failures.end()) same = failures.insert(same, {one.failure, {}});
    same->second.push_back(&one);
  }
  std::string text;
  for (const auto& [failure, those] : failures) {
    std::vector<int> ranks;
    for (const AgentFacts* const one : those) ranks.push_back(one->peer);
    text += (text.empty() ? "" : "; ") +
            (those.size() == 1 ? name_of(*those.front()) : "the agents of " + ranks_text(ranks)) +
            " cannot serve: " + failure;
  }
  return text;
}

// Why agents that have not failed cannot work in one job; nothing where they can.
std::optional<std::string> why_apart(std::span<const AgentFacts> agents) {
  if (agents.empty()) return "no agent of the job has come up";
  const AgentFacts& first = agents.front();
  std::map<GroupKey, const AgentFacts*> groups;
  for (const AgentFacts& one : agents) {
    if (one.tool_version != first.tool_version) {
      return differ("the builds of gemm-tune", first, first.tool_version, one, one.tool_version,
                    "start one build on all nodes");
    }
    if (one.nvrtc_version != first.nvrtc_version) {
      return differ("the NVRTC versions", first, first.nvrtc_version, one, one.nvrtc_version,
                    "set CUDA_HOME to one toolkit on all nodes");
    }
    const AgentFacts& same = *groups.try_emplace(group_of(one), &one).first->second;
    if (one.target.measurable != same.target.measurable) {
      const AgentFacts& without = one.target.measurable ? same : one;
      return name_of(without) + " cannot measure (" + without.target.why_not +
             "), others can: leave its node out";
    }
    if (one.target.driver_version != same.target.driver_version) {
      return differ("the drivers", same, same.target.driver_version, one, one.target.driver_version,
                    "tune the nodes of each driver in a job of their own");
    }
  }
  return std::nullopt;
}

}  // namespace

void require_one_job(std::span<const AgentFacts> agents) {
  const std::string failures = failures_of(agents);
  const bool is_usage = std::any_of(agents.begin(), agents.end(),
                                    [](const AgentFacts& one) { return one.has_bad_options; });
  if (is_usage) throw UsageError(failures);
  if (!failures.empty()) throw DeviceError(failures);
  if (const auto why = why_apart(agents)) throw DeviceError(*why);
}

std::vector<AgentGroup> groups_of(std::span<const AgentFacts> agents) {
  std::map<GroupKey, AgentGroup> groups;
  for (const AgentFacts& one : agents) {
    if (!one.failure.empty()) continue;
    const GroupKey key = group_of(one);
    ++groups.try_emplace(key, AgentGroup{key, one, 0}).first->second.agents;
  }
  std::vector<AgentGroup> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

void lead(Broker& broker, std::span<const GroupWork> groups,
          const std::function<void(const std::vector<NodeStatus>&)>& on_status,
          const std::function<void(const NodeStatus&)>& on_loss) {
  std::mutex mutex;
  std::exception_ptr error;
  std::atomic<std::size_t> left = groups.size();
  std::vector<std::vector<std::shared_ptr<TaskPools>>> owned;
  std::vector<std::vector<TaskPools*>> lanes;
  for (const GroupWork& group : groups) {
    lanes.emplace_back();
    for (const auto& one : owned.emplace_back(broker.lanes(group.key, group.problems))) {
      lanes.back().push_back(one.get());
    }
  }
  std::vector<std::jthread> threads;
  const auto start = [&](std::size_t i) {
    threads.emplace_back([&, i] {
      try {
        groups[i].run(lanes[i]);
      } catch (...) {  // the thread's edge
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      for (TaskPools* const lane : lanes[i]) lane->finished();
      --left;
      broker.wake();
    });
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const SignalsBlocked blocked;
    try {
      start(i);
    } catch (...) {  // the system may start no further thread; others have begun
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      --left;
    }
  }
  // Where a call fails, the groups may fail for that, too.
  broker.serve([&] { return left == 0; }, on_status, on_loss);
  threads.clear();
  if (error) std::rethrow_exception(error);
}

void with_own_agent(const std::function<AgentFacts()>& find_facts, const WorkerCommand& worker,
                    Transport* others, const Interruption& interruption,
                    const std::function<void(Broker&)>& work, const WorkerClock& clock,
                    const GpuShare& share) {
  auto [here, there] = in_process_line();
  std::vector<Transport*> transports = {here.get()};
  if (others != nullptr) transports.push_back(others);
  std::jthread agent;  // started once nothing else can fail: its end is the broker's to tell it
  // A GPU that rests is not overdue. What hangs ends by its worker's limit.
  SchedulerRules rules;
  if (!share.is_whole()) rules.grace = std::chrono::hours(24 * 365);
  Broker broker(transports, interruption, rules);
  // Also where the work throws: the agents would wait for ever.
  const struct End {
    Broker& broker;
    ~End() { broker.end(); }
  } end{broker};
  {
    const SignalsBlocked blocked;
    agent = std::jthread([&find_facts, &worker, &clock, &share, line = std::move(there)] {
      serve_as_agent(find_facts(), worker, *line, 0, clock, share);
    });
  }
  work(broker);
}

}  // namespace gemm_tune
