// SPDX-License-Identifier: Apache-2.0
// The side of one node: serves the leader's tasks by worker processes of this machine, which a
// crashing kernel may kill; this process never uses a GPU.
//
// Has one pool of compilers, and one measuring worker for each GPU that the leader gives it, so
// that the leader says which GPU a task gets. Keeps every cubin that it has compiled or been sent
// in a temporary file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/agents/messages.h"
#include "tuner/agents/transport.h"
#include "tuner/work/gpu_share.h"
#include "tuner/work/worker_process.h"

namespace gemm_tune {

// How the agent's life ended.
struct AgentEnding {
  bool in_order = false;  // the leader said that the job is over
  std::string why;        // otherwise
  bool has_lost_leader = false;
};

// Says hello with these facts and serves the leader, a peer of the transport, until the job is
// over, or the leader is lost or dismisses the agent: an interruption is the leader's to decide.
// worker: as of TuneRequest. share: of each GPU's time. Workers end with the thread that called
// this.
AgentEnding serve_as_agent(const AgentFacts& facts, const WorkerCommand& worker,
                           Transport& transport, int leader, const WorkerClock& clock = nullptr,
                           const GpuShare& share = {});

// Waits until the leader says that the job is over, or is lost: for a process that has no agent any
// more, and whose end would be the end of the job.
void await_end(Transport& transport, int leader);

}  // namespace gemm_tune
