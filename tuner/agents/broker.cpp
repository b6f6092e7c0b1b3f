// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/broker.h"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <variant>

#include "core/error.h"
#include "tuner/agents/lane_pools.h"
#include "tuner/agents/shares.h"
#include "tuner/process/running_clock.h"

namespace gemm_tune {
namespace {

// An agent is not silent while this process was stopped.
using Clock = RunningClock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestSilence{1000};
constexpr milliseconds kStatusInterval{200};
constexpr std::chrono::seconds kFlush{5};

TaskKind kind_of(const std::string& verb) {
  if (verb == "compile") return TaskKind::compile;
  return verb == "finals" ? TaskKind::finals : TaskKind::measure;
}

// The key of the cubin that a measurement needs; empty where it needs none.
std::string needed_by(const nlohmann::json& request) {
  const auto candidate = request.find("candidate");
  return candidate == request.end() ? "" : cubin_key(*candidate);
}

}  // namespace

std::string loss_sentence(const NodeStatus& node) {
  return "the agent of rank " + std::to_string(node.peer) +
         (node.host.empty() ? "" : " on " + node.host) + " serves no more: " + node.gone;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, next = 0; i < ranks.size(); i = next) {
    next = i + 1;
    while (next < ranks.size() && ranks[next] == ranks[next - 1] + 1) ++next;
    const std::string first = std::to_string(ranks[i]), last = std::to_string(ranks[next - 1]);
    runs.push_back(first == last ? first : first + "-" + last);
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < runs.size() ? ", " : " and ") + runs[i];
  }
  return text;
}

struct Broker::Impl {
  Impl(std::vector<Transport*> lines, const Interruption& asked, const SchedulerRules& rules)
      : transports(std::move(lines)), interruption(asked), scheduler(rules) {
    for (std::size_t i = 0; i < transports.size(); ++i) {
      for (const int peer : transports[i]->peers()) silent.insert({i, peer});
    }
  }

  using Peer = std::pair<std::size_t, int>;  // a transport and its peer

  struct Node {
    Peer peer;
    AgentFacts facts;
    GroupKey key;
    std::set<std::string> cubins;  // keys of those that it has
    NodeStatus status;
  };
  struct Lane {
    std::shared_ptr<LanePools> pools;
    ProblemId problem{};
    GroupKey key;
    std::map<TaskNumber, TaskId> tasks;
  };
  struct Open {
    LanePools* lane;
    Submitted what;
  };
  struct Leased {
    TaskId task;
    AgentId agent;
    std::optional<std::size_t> gpu;
    TaskKind kind;
    bool is_sent = false;
  };

  Scheduler::Time now() const {
    return std::chrono::duration_cast<Scheduler::Time>(Clock::now() - start);
  }

  void send(const Peer& peer, std::string message) {
    transports[peer.first]->send(peer.second, std::move(message));
  }

  GroupState& state_of(const GroupKey& key) {
    std::shared_ptr<GroupState>& state = groups[key];
    if (!state) state = std::make_shared<GroupState>();
    return *state;
  }

  void note_capacity(const GroupKey& key) {
    const Capacity capacity = scheduler.capacity(scheduler.group(key));
    GroupState& state = state_of(key);
    state.agents = capacity.agents;
    state.compilers = capacity.compilers;
    state.gpus = capacity.gpus;
  }

  void join(const Peer& peer, AgentFacts facts) {
    const Target& target = facts.target;
    const GroupKey key = group_of(facts);
    const std::size_t gpus = target.measurable ? target.ordinals.size() : 0;
    const AgentId agent = scheduler.join(key, facts.jobs, gpus, now()).agent;
    const ShareMessage share{gpus > 0 ? target.ordinals : std::vector<int>(), facts.jobs};
    send(peer, message_of(kShare, share));
    Node node{peer, std::move(facts), key, {}, {}};
    node.status.host = node.facts.host;
    node.status.device = key.gpu_name;
    node.status.compilers = node.facts.jobs;
    node.status.gpus = gpus;
    node.status.peer = peer.second;
    nodes.emplace(agent, std::move(node));
    agents[peer] = agent;
    note_capacity(key);
  }

  void lose(const Peer& peer, const std::string& why, Scheduler::Departure departure) {
    if (silent.erase(peer) > 0) lost_early(peer, "", why);
    if (const auto known = greeted.extract(peer); !known.empty()) {  // no GPU is dealt to it
      lost_early(peer, known.mapped().host, why);
    }
    const auto entry = agents.find(peer);
    if (entry == agents.end()) return;
    const AgentId agent = entry->second;
    agents.erase(entry);
    scheduler.leave(agent, departure, now());
    gone(agent, why);
  }

  // They may be stopped, or their node may be.
  void lose_silent(milliseconds limit) {
    const std::string why = "it did not tell what its node has within " +
                            std::to_string(std::chrono::ceil<std::chrono::seconds>(limit).count()) +
                            " s";
    for (const Peer& peer : std::set<Peer>(silent)) lose(peer, why, Scheduler::Departure::lost);
  }

  // Before it had a share.
  void lost_early(const Peer& peer, const std::string& host, const std::string& why) {
    NodeStatus status;
    status.host = host;
    status.gone = why;
    status.peer = peer.second;
    losses.push_back(status);
    never_joined.push_back(std::move(status));
  }

  // The scheduler has let the agent go.
  void gone(AgentId agent, const std::string& why) {
    Node& node = nodes.at(agent);
    node.status.gone = why;
    node.status.compilers_busy = node.status.gpus_busy = 0;
    node.cubins.clear();
    if (node.status.gpus > 0 || !last_gone.contains(node.key)) {
      last_gone[node.key] = is_alone() ? why : node.facts.host + ": " + why;
    }
    losses.push_back(node.status);
    note_capacity(node.key);
  }

  void receive() {
    for (std::size_t i = 0; i < transports.size(); ++i) {
      while (std::optional<Transport::Event> event = transports[i]->receive()) {
        const Peer peer{i, event->peer};
        if (!event->message) {
          lose(peer, "the agent is lost", Scheduler::Departure::lost);
        } else if (auto message = read_agent_message(*event->message)) {
          take(peer, message->first, message->second);
        } else {
          dismiss(peer, "it sent something that is no message");
        }
      }
    }
  }

  void dismiss(const Peer& peer, const std::string& why) {
    send(peer, message_of(kDismissed, why));
    lose(peer, why, Scheduler::Departure::in_order);
  }

  void take(const Peer& peer, const std::string& key, const nlohmann::json& body) {
    const auto entry = agents.find(peer);
    if (entry != agents.end()) scheduler.heard(entry->second, now());
    if (key == kHello) {
      auto facts = body.get<AgentFacts>();
      if (entry != agents.end()) return lose(peer, facts.failure, Scheduler::Departure::in_order);
      if (silent.erase(peer) > 0) greeted.emplace(peer, std::move(facts));
    } else if (key == kAnswer && entry != agents.end()) {
      take_answer(peer, entry->second, body.get<AnswerMessage>());
    }
  }

  void take_answer(const Peer& peer, AgentId agent, AnswerMessage answer) {
    const auto leased = leases.extract(answer.lease);
    if (leased.empty() || leased.mapped().agent != agent) return;
    const Leased lease = leased.mapped();
    Node& node = nodes.at(agent);
    free(node, lease);
    TaskResult result;
    result.status = static_cast<TaskResult::Status>(answer.status);
    if (result.status == TaskResult::Status::refused) {
      // Whatever the task: the next one would be refused as well.
      return dismiss(peer, answer.detail);
    }
    ++(lease.gpu ? node.status.measured : node.status.compiled);
    note_work(node.key, lease, answer.seconds);
    result.reply = std::move(answer.reply);
    result.detail = std::move(answer.detail);
    result.fresh = answer.fresh;
    result.by_environment = answer.by_environment;
    result.seconds = answer.seconds;
    std::vector<ContentId> produced;
    if (lease.kind == TaskKind::compile && result.status == TaskResult::Status::reply &&
        result.reply.at("ok").get<bool>()) {
      const std::string cubin = cubin_key(result.reply);
      produced.push_back(content_of(node.key, cubin));
      node.cubins.insert(cubin);
    }
    const auto answered = scheduler.answer(LeaseId{answer.lease}, produced, now());
    if (!answered) return;
    result.gpu = {static_cast<std::uint64_t>(agent), answered->gpu.value_or(0)};
    finish(answered->task, std::move(result));
  }

  void note_work(const GroupKey& key, const Leased& lease, double seconds) {
    GroupState& state = state_of(key);
    std::atomic<double>& spent = lease.gpu ? state.gpus_s : state.compilers_s;
    spent = spent + seconds;  // this thread alone writes it
  }

  static void free(Node& node, const Leased& lease) {
    std::size_t& busy = lease.gpu ? node.status.gpus_busy : node.status.compilers_busy;
    if (busy > 0) --busy;
  }

  // Equal keys mean equal cubins in the whole group, whose compilers are of one version.
  ContentId content_of(const GroupKey& key, const std::string& cubin) {
    const auto next = static_cast<ContentId>(contents.size() + 1);
    return contents.try_emplace({key, cubin}, next).first->second;
  }

  void finish(TaskId task, TaskResult result) {
    const auto entry = open.extract(task);
    if (entry.empty()) return;
    const Open& one = entry.mapped();
    const auto lane = lanes.find(one.lane);
    if (lane == lanes.end()) return;
    lane->second.tasks.erase(one.what.number);
    lane->second.pools->put(Finished{one.what.number, std::move(result)});
  }

  // --- From the lanes ----------------------------------------------------------------------------

  void take_from_lanes() {
    for (auto& [pools, message] : from_lanes.take()) {
      const auto lane = lanes.find(pools);
      if (lane == lanes.end()) continue;
      std::visit([&, which = lane](auto& one) { take(which->second, one); }, message);
    }
  }

  void take(Lane& lane, Submitted& submitted) {
    TaskInfo info;
    info.kind = kind_of(submitted.verb);
    info.limit = submitted.limit;
    if (const std::string cubin = needed_by(submitted.request); !cubin.empty()) {
      info.contents.push_back(content_of(lane.key, cubin));
    }
    const TaskId task = scheduler.submit(lane.problem, std::move(info), now());
    lane.tasks[submitted.number] = task;
    open.emplace(task, Open{lane.pools.get(), std::move(submitted)});
  }

  void take(Lane& lane, const Abandoned& abandoned) {
    const auto entry = lane.tasks.extract(abandoned.number);
    if (entry.empty()) return;
    scheduler.cancel(entry.mapped());
    open.erase(entry.mapped());
  }

  void take(Lane&, Updated& updated) {
    const auto lease = leases.find(updated.lease);
    if (lease == leases.end()) return;  // its agent is lost
    const auto task = open.find(lease->second.task);
    if (task == open.end()) return answer_unsent(updated.lease);
    send_task(updated.lease, lease->second, task->second.what, std::move(updated.request));
  }

  void take(Lane& lane, const LaneEnded&) {
    for (const TaskId task : scheduler.end(lane.problem)) open.erase(task);
    lanes.erase(lane.pools.get());
  }

  // --- Orders ------------------------------------------------------------------------------------

  void carry_out_orders() {
    scheduler.advance(now());
    // Some orders lead to others.
    for (Scheduler::Orders orders = scheduler.take_orders(); !is_empty(orders);
         orders = scheduler.take_orders()) {
      for (const auto& assignment : orders.assignments) assign(assignment);
      for (const LeaseId lease : orders.unwanted) want_no_more(static_cast<std::uint64_t>(lease));
      for (const TaskId task : orders.lost) {
        TaskResult result;
        result.status = TaskResult::Status::died;
        result.detail = "several agents were lost while they worked on it";
        finish(task, std::move(result));
      }
      for (const AgentId agent : orders.dismissed) {
        const std::string why = "it did not answer in time";
        send(nodes.at(agent).peer, message_of(kDismissed, why));
        agents.erase(nodes.at(agent).peer);
        gone(agent, why);
      }
    }
    fail_groups_that_cannot_serve();
  }

  static bool is_empty(const Scheduler::Orders& orders) {
    return orders.assignments.empty() && orders.unwanted.empty() && orders.lost.empty() &&
           orders.dismissed.empty();
  }

  void assign(const Scheduler::Assignment& assignment) {
    const auto task = open.find(assignment.task);
    const auto lease = static_cast<std::uint64_t>(assignment.lease);
    const TaskKind kind = task == open.end() ? TaskKind::measure : kind_of(task->second.what.verb);
    Leased& leased =
        leases.emplace(lease, Leased{assignment.task, assignment.agent, assignment.gpu, kind})
            .first->second;
    Node& node = nodes.at(assignment.agent);
    ++(assignment.gpu ? node.status.gpus_busy : node.status.compilers_busy);
    if (task == open.end()) return answer_unsent(lease);
    Submitted& what = task->second.what;
    if (what.is_updated) return send_task(lease, leased, what, what.request);
    task->second.lane->put(Wanted{what.number, lease});
  }

  // The lane that was asked for the request may never answer.
  void want_no_more(std::uint64_t lease) {
    const auto leased = leases.find(lease);
    if (leased == leases.end()) return;
    if (!leased->second.is_sent) return answer_unsent(lease);
    const Node& node = nodes.at(leased->second.agent);
    if (node.status.gone.empty()) send(node.peer, message_of(kUnwanted, lease));
  }

  // The task was abandoned before the agent heard of it.
  void answer_unsent(std::uint64_t lease) {
    const auto entry = leases.extract(lease);
    if (entry.empty()) return;
    const auto node = nodes.find(entry.mapped().agent);
    if (node != nodes.end()) free(node->second, entry.mapped());
    scheduler.answer(LeaseId{lease}, {}, now());
  }

  void send_task(std::uint64_t lease, Leased& leased, const Submitted& what,
                 nlohmann::json request) {
    Node& node = nodes.at(leased.agent);
    if (!node.status.gone.empty()) return;
    leased.is_sent = true;
    for (nlohmann::json* const place : cubin_places(request)) {
      const std::string key = cubin_key(*place);
      const bool has_it = !key.empty() && !node.cubins.insert(key).second;
      if (has_it) place->erase("cubin");
    }
    TaskMessage message;
    message.lease = lease;
    message.verb = what.verb;
    message.request = std::move(request);
    message.limit_ms = what.limit.count();
    message.fresh = what.fresh;
    message.gpu = leased.gpu;
    send(node.peer, message_of(kTask, message));
  }

  // Whether the job is this machine's alone, whose agent has no name (tuner/agents/one_machine.h).
  bool is_alone() const { return nodes.size() == 1 && nodes.begin()->second.facts.host.empty(); }

  // Ranks that only compile are of no use once every GPU of a group that measures is lost.
  bool can_serve(const GroupKey& key) {
    const GroupState& state = state_of(key);
    return state.agents > 0 &&
           (state.gpus > 0 || std::ranges::none_of(nodes, [&](const auto& node) {
              return node.second.key == key && node.second.status.gpus > 0;
            }));
  }

  std::string why_none_is_left(const GroupKey& key) const {
    const auto why = last_gone.find(key);
    if (why != last_gone.end() && is_alone()) return why->second;
    return "no agent of the job is left for " + key.gpu_name +
           (why == last_gone.end() ? "" : "; the last one was on " + why->second);
  }

  void fail_groups_that_cannot_serve() {
    if (interruption.requested()) return;  // the searches end by themselves
    for (auto& [pools, lane] : lanes) {
      if (lane.tasks.empty() || can_serve(lane.key)) continue;
      TaskResult result;
      result.status = TaskResult::Status::refused;
      result.detail = why_none_is_left(lane.key);
      for (const auto& [number, task] : std::exchange(lane.tasks, {})) {
        scheduler.cancel(task);
        open.erase(task);
        lane.pools->put(Finished{number, result});
      }
    }
  }

  // --- Waiting -----------------------------------------------------------------------------------

  void wait(milliseconds longest) {
    std::vector<pollfd> descriptors = {{bell.fd(), POLLIN, 0}};
    for (Transport* const transport : transports) {
      if (transport->fd() >= 0) {
        descriptors.push_back({transport->fd(), POLLIN, 0});
      } else {
        longest = std::min(longest, Transport::kPollInterval);
      }
    }
    poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
    bell.quiet();
  }

  std::vector<NodeStatus> statuses() const {
    std::vector<NodeStatus> all = never_joined;
    for (const auto& [agent, node] : nodes) {
      all.push_back(node.status);
      NodeStatus& one = all.back();
      // Tasks wait at an agent, so that none of its workers waits for a message.
      one.compilers_busy = std::min(one.compilers_busy, one.compilers);
      one.gpus_busy = std::min(one.gpus_busy, one.gpus);
    }
    return all;
  }

  // For the lanes of each group.
  void note_loads() {
    std::map<GroupKey, std::pair<std::size_t, std::size_t>> busy;
    for (const auto& [agent, node] : nodes) {
      const NodeStatus& status = node.status;
      busy[node.key].first += std::min(status.compilers_busy, status.compilers);
      busy[node.key].second += std::min(status.gpus_busy, status.gpus);
    }
    for (const auto& [key, counts] : busy) {
      state_of(key).compilers_busy = counts.first;
      state_of(key).gpus_busy = counts.second;
    }
  }

  // What call_soon() was given. An exception of theirs is the job's.
  void make_calls() {
    for (const auto& call : calls.take()) {
      if (error) return;
      try {
        call();
      } catch (...) {  // the edge of what others have left to this thread
        error = std::current_exception();
        has_failed = true;
      }
    }
  }

  std::vector<Transport*> transports;
  const Interruption interruption;
  const ClockReader clock_reader;
  const Clock::time_point start = Clock::now();
  Scheduler scheduler;
  Bell bell;
  ToBroker from_lanes;
  Mailbox<std::function<void()>> calls;
  std::exception_ptr error;  // of a call
  std::atomic<bool> has_failed = false;
  std::set<Peer> silent;  // have not said hello
  std::map<Peer, AgentFacts> greeted;
  std::map<Peer, AgentId> agents;  // those that serve
  std::map<AgentId, Node> nodes;   // and those that did
  std::vector<NodeStatus> never_joined;
  std::vector<NodeStatus> losses;  // that nobody has been told of
  std::map<GroupKey, std::shared_ptr<GroupState>> groups;
  std::map<GroupKey, std::string> last_gone;
  std::map<LanePools*, Lane> lanes;
  std::map<TaskId, Open> open;
  std::map<std::uint64_t, Leased> leases;
  std::map<std::pair<GroupKey, std::string>, ContentId> contents;
};

Broker::Broker(std::vector<Transport*> transports, const Interruption& interruption,
               const SchedulerRules& rules)
    : impl_(std::make_unique<Impl>(std::move(transports), interruption, rules)) {}

Broker::~Broker() = default;

std::vector<AgentFacts> Broker::gather(
    const std::function<void(const std::vector<int>& missing)>& on_wait, milliseconds interval,
    milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  auto next_note = Clock::now() + interval;
  while (!impl_->silent.empty() && !impl_->interruption.requested()) {
    impl_->receive();
    if (impl_->silent.empty()) break;
    if (Clock::now() >= deadline) {
      impl_->lose_silent(limit);
      break;
    }
    impl_->wait(std::min(interval, kLongestSilence));
    if (Clock::now() < next_note) continue;
    std::vector<int> missing;
    for (const auto& [transport, peer] : impl_->silent) missing.push_back(peer);
    on_wait(missing);
    next_note += interval;
  }
  const std::map<Impl::Peer, AgentFacts> greeted = std::exchange(impl_->greeted, {});
  std::vector<AgentFacts> facts;  // by transport and rank, whoever was first
  for (const auto& [peer, fact] : greeted) {
    facts.push_back(fact);
    facts.back().peer = peer.second;
  }
  deal_out(facts);
  for (std::size_t i = 0; const auto& [peer, fact] : greeted) {
    const AgentFacts& its = facts[i++];
    if (its.failure.empty()) impl_->join(peer, its);
  }
  return facts;
}

std::vector<std::shared_ptr<TaskPools>> Broker::lanes(const GroupKey& key, std::size_t problems) {
  const GroupId group = impl_->scheduler.group(key);
  impl_->state_of(key);
  const std::shared_ptr<GroupState> state = impl_->groups.at(key);
  std::vector<std::shared_ptr<TaskPools>> all;
  const std::size_t count = problems_at_once(impl_->scheduler.capacity(group), problems);
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) {
    const auto pools = std::make_shared<LanePools>(impl_->from_lanes, impl_->bell, state);
    all.push_back(pools);
    impl_->lanes[pools.get()] = {pools, impl_->scheduler.begin(group), key, {}};
  }
  return all;
}

void Broker::serve(const std::function<bool()>& is_over,
                   const std::function<void(const std::vector<NodeStatus>&)>& on_status,
                   const std::function<void(const NodeStatus&)>& on_loss) {
  const auto tell_losses = [&] {
    for (const NodeStatus& one : std::exchange(impl_->losses, {})) on_loss(one);
  };
  auto next_status = Clock::now();
  bool has_told = false;
  while (!is_over()) {
    impl_->make_calls();
    impl_->take_from_lanes();
    impl_->receive();
    impl_->carry_out_orders();
    tell_losses();
    if (impl_->interruption.requested() && !std::exchange(has_told, true)) {
      for (auto& [pools, lane] : impl_->lanes) pools->ring();
    }
    if (Clock::now() >= next_status) {
      impl_->note_loads();
      on_status(impl_->statuses());
      next_status = Clock::now() + kStatusInterval;
    }
    impl_->wait(kStatusInterval);
  }
  impl_->make_calls();
  tell_losses();
  on_status(impl_->statuses());
  if (impl_->error) std::rethrow_exception(impl_->error);
}

void Broker::call_soon(std::function<void()> call) {
  if (impl_->has_failed) throw Error("an earlier call of the job has failed");
  impl_->calls.put(std::move(call));
  wake();
}

void Broker::end() {
  for (Transport* const transport : impl_->transports) {
    for (const int peer : transport->peers()) transport->send(peer, message_of(kEnd, nullptr));
  }
  for (Transport* const transport : impl_->transports) transport->flush(kFlush);
}

void Broker::wake() { impl_->bell.ring(); }

}  // namespace gemm_tune
