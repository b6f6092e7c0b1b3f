// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/shares.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gemm_tune {
namespace {

bool has_gpus(const AgentFacts& agent) { return agent.failure.empty() && agent.target.measurable; }

// The GPU's identity; "" where it is unknown, and shared with nobody.
std::string uuid_of(const AgentFacts& agent, std::size_t gpu) {
  const std::vector<std::string>& uuids = agent.target.uuids;
  return gpu < uuids.size() ? uuids[gpu] : "";
}

// What agents share: each goes to one of the agents that see it. Those that few see come first,
// because who sees many has a choice; of several agents, that with the least so far gets it.
// counts: of each agent, so far.
std::vector<std::size_t> owners_of(std::span<const std::vector<std::size_t>> seen_by,
                                   std::vector<std::size_t> counts) {
  std::vector<std::size_t> order(seen_by.size()), owners(seen_by.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return seen_by[a].size() < seen_by[b].size();
  });
  for (const std::size_t one : order) {
    owners[one] =
        *std::min_element(seen_by[one].begin(), seen_by[one].end(),
                          [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; });
    ++counts[owners[one]];
  }
  return owners;
}

void deal_out_gpus(std::span<AgentFacts> agents) {
  std::map<std::string, std::size_t> numbers;  // by UUID, as the agents name them first
  std::vector<std::vector<std::size_t>> seen_by;
  std::vector<std::size_t> counts(agents.size());
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!has_gpus(agents[i])) continue;
    for (std::size_t k = 0; k < agents[i].target.ordinals.size(); ++k) {
      const std::string uuid = uuid_of(agents[i], k);
      if (uuid.empty()) {
        ++counts[i];
        continue;
      }
      const auto [entry, is_new] = numbers.try_emplace(uuid, seen_by.size());
      if (is_new) seen_by.emplace_back();
      seen_by[entry->second].push_back(i);
    }
  }
  const std::vector<std::size_t> owners = owners_of(seen_by, counts);
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!has_gpus(agents[i])) continue;
    Target& target = agents[i].target;
    std::vector<int> ordinals;
    std::vector<std::string> uuids;
    for (std::size_t k = 0; k < target.ordinals.size(); ++k) {
      const std::string uuid = uuid_of(agents[i], k);
      if (!uuid.empty() && owners[numbers.at(uuid)] != i) continue;
      ordinals.push_back(target.ordinals[k]);
      uuids.push_back(uuid);
    }
    target.ordinals = std::move(ordinals);
    target.uuids = std::move(uuids);
  }
}

const std::string& machine_of(const AgentFacts& agent) {
  return agent.boot_id.empty() ? agent.host : agent.boot_id;
}

// As with one agent, each GPU keeps one core for the process that measures.
void deal_out_cores(std::span<AgentFacts> agents) {
  std::map<std::pair<std::string, int>, std::vector<std::size_t>> cores;  // of a machine: seen by
  for (std::size_t i = 0; i < agents.size(); ++i) {
    const AgentFacts& one = agents[i];
    if (!one.failure.empty()) continue;
    for (const int cpu : one.cpus) cores[{machine_of(one), cpu}].push_back(i);
  }
  std::vector<std::size_t> kept(agents.size());
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (has_gpus(agents[i])) kept[i] = agents[i].target.ordinals.size();
  }
  std::vector<std::vector<std::size_t>> seen_by;
  for (const auto& [core, its] : cores) {
    const auto keeper =
        std::find_if(its.begin(), its.end(), [&](std::size_t i) { return kept[i] > 0; });
    if (keeper == its.end()) {
      seen_by.push_back(its);
    } else {
      --kept[*keeper];
    }
  }
  for (AgentFacts& one : agents) {
    if (one.failure.empty() && !one.cpus.empty()) one.jobs = 0;
  }
  const std::vector<std::size_t> owners =
      owners_of(seen_by, std::vector<std::size_t>(agents.size()));
  for (const std::size_t owner : owners) ++agents[owner].jobs;
  for (AgentFacts& one : agents) one.jobs = std::max<std::size_t>(one.jobs, 1);
}

}  // namespace

void deal_out(std::span<AgentFacts> agents) {
  deal_out_gpus(agents);
  deal_out_cores(agents);
}

std::vector<std::string> few_cpus_notes(std::span<const AgentFacts> agents) {
  struct Machine {
    std::string host;
    std::set<int> cpus;
    int all = 0;
  };
  std::map<std::string, Machine> machines;
  for (const AgentFacts& one : agents) {
    if (!one.failure.empty() || one.cpus.empty()) continue;
    Machine& machine = machines[machine_of(one)];
    machine.host = one.host;
    machine.cpus.insert(one.cpus.begin(), one.cpus.end());
    machine.all = std::max(machine.all, one.cpus_of_machine);
  }
  std::vector<std::string> notes;
  for (const auto& [name, machine] : machines) {
    const std::size_t usable = machine.cpus.size();
    if (2 * usable >= static_cast<std::size_t>(std::max(machine.all, 0))) continue;
    notes.push_back(std::to_string(usable) + " of the " + std::to_string(machine.all) +
                    " CPUs of " + machine.host + " may be used, and all compilations there share " +
                    (usable == 1 ? "it" : "them") +
                    ": mpirun --bind-to none (of Slurm: more --cpus-per-task) gives more");
  }
  return notes;
}

}  // namespace gemm_tune
