// SPDX-License-Identifier: Apache-2.0
// Agents of one machine: who gets which GPU, and how many compile processes. Several that time on
// one GPU would disturb each other. Pure.
#pragma once

#include <span>

#include "tuner/agents/messages.h"

namespace gemm_tune {

// Leaves each agent its share of what the agents have found.
//
// A GPU that several see, by its UUID, goes to one of them: of four agents that see the same four
// GPUs, each gets one, in their order, as MPI programs choose by local rank. An agent for which
// none is left compiles for its group. Agents of one host with the same CPUs share those: together
// they have as many compile processes as one agent with all their GPUs would, and each has at least
// one.
void deal_out(std::span<AgentFacts> agents);

}  // namespace gemm_tune
