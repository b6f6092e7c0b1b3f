// SPDX-License-Identifier: Apache-2.0
// What the leader of a job and its agents tell each other: one JSON object per message, framed as
// between the program and its workers (tuner/work/frame.h).
//
// An agent says hello once, or why it cannot serve, and hears which GPUs and how many compile
// processes are its own. It answers each task once, under the number of the task's lease. A cubin
// travels to an agent once: later tasks name its key alone.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "tuner/cluster/scheduler.h"
#include "tuner/plan/target.h"
#include "tuner/work/protocol.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

// An agent's machine, as it found it.
struct AgentFacts {
  std::string host;
  // Names the running kernel of the machine, which its containers share, whatever their host names;
  // empty where unknown.
  std::string boot_id;
  std::string failure;           // why it cannot serve, as a sentence; usually empty
  bool has_bad_options = false;  // is the failure
  int peer = 0;                  // filled in by the leader: its number, over MPI its rank
  Target target;
  std::string nvrtc_version, tool_version;
  std::size_t jobs = 1;   // compile processes
  std::vector<int> cpus;  // that these may use; none where `jobs` is the user's number
  int cpus_of_machine = 0;
};

// Of agents with equal GPUs.
GroupKey group_of(const AgentFacts& facts);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Target, spec, measurable, ordinals, driver_version, why_not, gpu,
                                   uuids)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentFacts, host, boot_id, failure, has_bad_options, target,
                                   nvrtc_version, tool_version, jobs, cpus, cpus_of_machine)

// What an agent may use, which may be less than it has found.
struct ShareMessage {
  std::vector<int> ordinals;
  std::size_t jobs = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShareMessage, ordinals, jobs)

struct TaskMessage {
  std::uint64_t lease = 0;
  std::string verb;
  nlohmann::json request;
  std::int64_t limit_ms = 0;
  bool fresh = false;
  std::optional<std::size_t> gpu;  // the agent's; nothing: one of its compilers
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskMessage, lease, verb, request, limit_ms, fresh, gpu)

struct AnswerMessage {
  std::uint64_t lease = 0;
  int status = 0;  // of TaskResult
  nlohmann::json reply;
  std::string detail;
  bool fresh = false, by_environment = false;
  double seconds = 0;  // of a worker
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnswerMessage, lease, status, reply, detail, fresh,
                                   by_environment, seconds)

// The keys of the messages.
inline constexpr const char* kHello = "hello";          // AgentFacts
inline constexpr const char* kAnswer = "answer";        // AnswerMessage
inline constexpr const char* kHeartbeat = "heartbeat";  // null
inline constexpr const char* kShare = "share";          // ShareMessage, before any task
inline constexpr const char* kTask = "task";            // TaskMessage
inline constexpr const char* kUnwanted = "unwanted";    // a lease, to be answered soon
inline constexpr const char* kEnd = "end";              // null: the job is over
inline constexpr const char* kDismissed = "dismissed";  // the reason

std::string message_of(const char* key, nlohmann::json body);

// Key and body; nothing where the bytes are no message of these.
std::optional<std::pair<std::string, nlohmann::json>> read_agent_message(const std::string& bytes);

// The places of a request that hold a config and its cubin: CompiledConfig as JSON.
std::vector<nlohmann::json*> cubin_places(nlohmann::json& request);

// Of such a place or of a compiler's answer: names its cubin, for every problem of the job alike.
// Empty for an algorithm of a library, which has none.
std::string cubin_key(const nlohmann::json& place);

}  // namespace gemm_tune
