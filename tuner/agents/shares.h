// SPDX-License-Identifier: Apache-2.0
// Agents of one machine: who gets which GPU, and how many compile processes. Several that time on
// one GPU would disturb each other. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/agents/messages.h"

namespace gemm_tune {

// Leaves each agent its share of what the agents have found.
//
// A GPU that several see, by its UUID, goes to one of them: of four agents that see the same four
// GPUs, each gets one, in their order, as MPI programs choose by local rank. An agent for which
// none is left compiles for its group. So does a CPU of a machine that several agents may use:
// agents with the same CPUs have as many compile processes together as one agent with all their
// GPUs would. Each agent has at least one. A machine is one running kernel: containers of one host
// share its CPUs whatever their host names, and equal host names on two machines share nothing.
void deal_out(std::span<AgentFacts> agents);

// A line for each machine of whose CPUs the agents there may use less than half together, as where
// mpirun binds a rank to one core: compilations then take many times as long.
std::vector<std::string> few_cpus_notes(std::span<const AgentFacts> agents);

}  // namespace gemm_tune
