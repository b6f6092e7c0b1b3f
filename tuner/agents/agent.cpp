// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/agent.h"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "tuner/process/running_clock.h"
#include "tuner/process/scratch_cubins.h"
#include "tuner/work/worker.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

constexpr std::chrono::seconds kHeartbeatInterval{10};
constexpr std::chrono::seconds kHelloFlush{5};
constexpr std::chrono::milliseconds kLongestWait{1000};
constexpr std::chrono::milliseconds kIdlePoll{50};

class Agent {
 public:
  Agent(const WorkerCommand& worker, Transport& transport, int leader, const WorkerClock& clock,
        const GpuShare& share)
      : worker_(worker), clock_(clock), share_(share), transport_(transport), leader_(leader) {}

  AgentEnding serve() {
    const bool must_poll = transport_.fd() < 0;
    while (true) {
      while (std::optional<Transport::Event> event = transport_.receive()) {
        if (event->peer != leader_) continue;
        if (!event->message) return {false, "the leader of the job is lost", true};
        if (std::optional<AgentEnding> ending = take(*event->message)) return *std::move(ending);
      }
      if (Clock::now() >= next_heartbeat_) tell(kHeartbeat, nullptr);
      WorkerPool::wait(waited_for_, must_poll ? Transport::kPollInterval : kLongestWait,
                       transport_.fd());
    }
  }

 private:
  void take_share(const ShareMessage& share) {
    add_pool({share.jobs, compile_worker(worker_)}, false, {});
    for (const int ordinal : share.ordinals) {
      add_pool({measuring_worker(worker_, ordinal)}, true, share_);
    }
  }

  void add_pool(std::vector<WorkerCommand> commands, bool warm_spares, const GpuShare& share) {
    waited_for_.push_back(pools_
                              .emplace_back(std::make_unique<WorkerPool>(
                                  std::move(commands), warm_spares, clock_, share))
                              .get());
  }

  void tell(const char* key, nlohmann::json body) {
    transport_.send(leader_, message_of(key, std::move(body)));
    next_heartbeat_ = Clock::now() + kHeartbeatInterval;
  }

  std::optional<AgentEnding> take(const std::string& bytes) {
    auto message = read_agent_message(bytes);
    if (!message) throw Error("the leader of the job sent something that is no message");
    auto& [key, body] = *message;
    if (key == kShare) take_share(body.get<ShareMessage>());
    if (key == kTask) start(body.get<TaskMessage>());
    if (key == kUnwanted) hurry(body.get<std::uint64_t>());
    if (key == kEnd) return AgentEnding{true, {}};
    if (key == kDismissed) return AgentEnding{false, body.get<std::string>()};
    return std::nullopt;
  }

  void start(TaskMessage message) {
    for (nlohmann::json* const place : cubin_places(message.request)) keep(*place);
    const std::uint64_t lease = message.lease;
    const std::string verb = message.verb;
    // The bytes are read when a worker is free for them.
    const auto with_cubins = [this](nlohmann::json& request) {
      for (nlohmann::json* const place : cubin_places(request)) fill_in(*place);
    };
    const auto done = [this, lease, verb](TaskResult result) { answer(lease, verb, result); };
    WorkerPool& pool = *pools_.at(message.gpu ? 1 + *message.gpu : 0);
    pool.submit({verb, std::move(message.request), std::chrono::milliseconds(message.limit_ms),
                 message.fresh, done, with_cubins, lease});
  }

  // Nobody waits for the answer any more: another task shall have the worker.
  void hurry(std::uint64_t lease) {
    for (WorkerPool* const pool : waited_for_) pool->hurry(lease);
  }

  // Takes the bytes that came with a kernel into the temporary file.
  void keep(nlohmann::json& place) {
    const auto cubin = place.find("cubin");
    if (cubin == place.end()) return;
    const std::string key = cubin_key(place);
    if (key.empty()) return;
    store(key, *cubin);
    place.erase(cubin);
  }

  void fill_in(nlohmann::json& place) {
    const std::string key = cubin_key(place);
    if (!key.empty()) place["cubin"] = binary_json(cubins_.load(key));
  }

  void store(const std::string& key, const nlohmann::json& cubin) {
    const nlohmann::json::binary_t& bytes = cubin.get_binary();
    cubins_.store(key, std::string(bytes.begin(), bytes.end()));
  }

  void answer(std::uint64_t lease, const std::string& verb, TaskResult& result) {
    const bool has_cubin = verb == "compile" && result.status == TaskResult::Status::reply &&
                           result.reply.at("ok").get<bool>();
    if (has_cubin) {
      store(cubin_key(result.reply), result.reply.at("cubin"));
    }
    AnswerMessage message;
    message.lease = lease;
    message.status = static_cast<int>(result.status);
    message.reply = std::move(result.reply);
    message.detail = std::move(result.detail);
    message.fresh = result.fresh;
    message.by_environment = result.by_environment;
    message.seconds = result.seconds;
    tell(kAnswer, message);
  }

  const WorkerCommand& worker_;
  const WorkerClock& clock_;
  const GpuShare& share_;
  Transport& transport_;
  const int leader_;
  ScratchCubins cubins_;
  std::vector<std::unique_ptr<WorkerPool>> pools_;  // of compilers, then of each GPU
  std::vector<WorkerPool*> waited_for_;
  Clock::time_point next_heartbeat_ = Clock::now() + kHeartbeatInterval;
};

}  // namespace

AgentEnding serve_as_agent(const AgentFacts& facts, const WorkerCommand& worker,
                           Transport& transport, int leader, const WorkerClock& clock,
                           const GpuShare& share) {
  const auto tell = [&](const AgentFacts& what) {
    transport.send(leader, message_of(kHello, what));
    transport.flush(kHelloFlush);
  };
  AgentFacts refusal = facts;
  try {
    if (!facts.failure.empty()) {
      tell(facts);
      return {false, facts.failure};
    }
    Agent agent(worker, transport, leader, clock, share);
    tell(facts);
    return agent.serve();
  } catch (const std::exception& error) {  // the agent's edge
    refusal.failure = error.what();
    refusal.has_bad_options = dynamic_cast<const UsageError*>(&error) != nullptr;
    tell(refusal);
    return {false, refusal.failure};
  }
}

void await_end(Transport& transport, int leader) {
  while (true) {
    while (const std::optional<Transport::Event> event = transport.receive()) {
      if (event->peer != leader) continue;
      if (!event->message) return;
      const auto message = read_agent_message(*event->message);
      if (message && message->first == kEnd) return;
    }
    WorkerPool::wait({}, transport.fd() < 0 ? kIdlePoll : kLongestWait, transport.fd());
  }
}

}  // namespace gemm_tune
