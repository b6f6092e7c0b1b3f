// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/shares.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
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

void deal_out_gpus(std::span<AgentFacts> agents) {
  struct Gpu {
    std::vector<std::size_t> seen_by;           // agents, in their order
    std::pair<std::size_t, std::size_t> place;  // the first of those, and its index there
  };
  std::map<std::string, Gpu> gpus;
  std::vector<std::size_t> counts(agents.size());  // of the GPUs of each agent so far
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!has_gpus(agents[i])) continue;
    for (std::size_t k = 0; k < agents[i].target.ordinals.size(); ++k) {
      const std::string uuid = uuid_of(agents[i], k);
      if (uuid.empty()) {
        ++counts[i];
      } else {
        gpus.try_emplace(uuid, Gpu{{}, {i, k}}).first->second.seen_by.push_back(i);
      }
    }
  }
  // Those that few see come first: who sees many has a choice.
  std::vector<std::pair<std::string, Gpu>> order(gpus.begin(), gpus.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.seen_by.size(), a.second.place) <
           std::tuple(b.second.seen_by.size(), b.second.place);
  });
  std::map<std::string, std::size_t> owners;
  for (const auto& [uuid, gpu] : order) {
    const std::size_t owner =
        *std::min_element(gpu.seen_by.begin(), gpu.seen_by.end(),
                          [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; });
    owners[uuid] = owner;
    ++counts[owner];
  }
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!has_gpus(agents[i])) continue;
    Target& target = agents[i].target;
    std::vector<int> ordinals;
    std::vector<std::string> uuids;
    for (std::size_t k = 0; k < target.ordinals.size(); ++k) {
      const std::string uuid = uuid_of(agents[i], k);
      if (!uuid.empty() && owners.at(uuid) != i) continue;
      ordinals.push_back(target.ordinals[k]);
      uuids.push_back(uuid);
    }
    target.ordinals = std::move(ordinals);
    target.uuids = std::move(uuids);
  }
}

// As with one agent, each GPU keeps one core for the process that measures.
void deal_out_cores(std::span<AgentFacts> agents) {
  std::map<std::pair<std::string, std::vector<int>>, std::vector<AgentFacts*>> together;
  for (AgentFacts& one : agents) {
    if (one.failure.empty() && !one.cpus.empty()) {
      together[{one.host, one.cpus}].push_back(&one);
    }
  }
  for (const auto& [place, sharers] : together) {
    const std::size_t cores = place.second.size(), count = sharers.size();
    std::size_t kept = 0;
    for (const AgentFacts* const one : sharers) {
      if (has_gpus(*one)) kept += one->target.ordinals.size();
    }
    const std::size_t jobs = cores > kept ? cores - kept : 1;
    for (std::size_t i = 0; i < count; ++i) {
      sharers[i]->jobs = std::max<std::size_t>(jobs / count + (i < jobs % count ? 1 : 0), 1);
    }
  }
}

}  // namespace

void deal_out(std::span<AgentFacts> agents) {
  deal_out_gpus(agents);
  deal_out_cores(agents);
}

}  // namespace gemm_tune
