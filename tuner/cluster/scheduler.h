// SPDX-License-Identifier: Apache-2.0
// Which agent of a cluster gets which task: leases, agents that are lost, contents that travel.
//
// An agent serves the tasks of one node: a number of compilers, and GPUs of one kind. Agents with
// equal GPUs form a group, and a problem is tuned by one group. Compilations and measurements of a
// problem go to any agent of the group, preferably to the problem's home: one GPU and the compilers
// beside it. Finals of a problem all go to one GPU. A task ends once: by the first answer, or as
// lost after several agents were lost while they worked on it.
//
// Moves no bytes and knows no clock: its owner passes the time in, and carries out its orders. Use
// from one thread.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gemm_tune {

// Agents with equal keys are of one group.
struct GroupKey {
  std::string arch, gpu_name;
  int sm_count = 0;
  auto operator<=>(const GroupKey&) const = default;
};

enum class GroupId : std::uint64_t {};
enum class AgentId : std::uint64_t {};
enum class ProblemId : std::uint64_t {};
enum class TaskId : std::uint64_t {};
enum class LeaseId : std::uint64_t {};
enum class ContentId : std::uint64_t {};  // the owner's number of a cubin

enum class TaskKind { compile, measure, finals };

struct TaskInfo {
  TaskKind kind = TaskKind::compile;
  std::chrono::microseconds limit{};  // the agent ends the task by itself after this time
  std::vector<ContentId> contents;    // cubins that the agent needs for it
};

// What a group has, or what one of its problems may use.
struct Capacity {
  std::size_t agents = 0, compilers = 0, gpus = 0;
};

// How many problems are tuned at once: three for each GPU (for each agent, where nothing is
// measured). While one is planned, or in its finals, or waits for its last compilations, the others
// use its compilers and its GPU. With more, a problem would know the results of fewer others when
// it begins (docs/notes/search/search_cost.md).
std::size_t problems_at_once(const Capacity& group, std::size_t problems_left);

// What each of this many searches may keep busy: more than one GPU where there are fewer of them
// than GPUs.
Capacity share_of(const Capacity& group, std::size_t problems);

struct SchedulerRules {
  // A task is lost once this many agents were lost while they worked on it: it may be the cause.
  int most_losses = 3;
  // An agent that has not answered this long after the limits of its tasks is lost.
  std::chrono::microseconds grace = std::chrono::seconds(180);
  // So is one that was not heard of for this long.
  std::chrono::microseconds silence = std::chrono::seconds(60);
  // Tasks that wait at an agent for its next free compiler or GPU, so that none of those waits for
  // a message.
  std::size_t compilations_ahead = 2;  // for each agent
  std::size_t measurements_ahead = 1;  // for each GPU
};

class Scheduler {
 public:
  using Time = std::chrono::microseconds;  // since any moment

  explicit Scheduler(const SchedulerRules& rules = {}) : rules_(rules) {}

  // --- Agents ------------------------------------------------------------------------------------

  struct Joined {
    AgentId agent;
    GroupId group;
  };
  // An agent that was lost and comes back joins as a new one.
  Joined join(const GroupKey& key, std::size_t compilers, std::size_t gpus, Time now);

  enum class Departure {
    lost,      // with its node or process: a task under way may have been the cause
    in_order,  // its node is wanted back; or its environment failed, whatever the task
  };
  // Its tasks are given out again. Nothing happens if it has left before.
  void leave(AgentId agent, Departure departure, Time now);

  // Any message of the agent.
  void heard(AgentId agent, Time now);

  // The agent has thrown this content away.
  void forgets(AgentId agent, ContentId content);

  GroupId group(const GroupKey& key);
  Capacity capacity(GroupId group) const;

  // --- Problems and their tasks ------------------------------------------------------------------

  ProblemId begin(GroupId group);

  // Returns the tasks that had not ended. Their answers are dropped.
  std::vector<TaskId> end(ProblemId problem);

  TaskId submit(ProblemId problem, TaskInfo info, Time now);

  // Queued or under way.
  std::size_t pending(ProblemId problem, TaskKind kind) const;

  // The task is wanted no more. Nothing happens if it has ended.
  void cancel(TaskId task);

  struct Answered {
    TaskId task;
    AgentId agent;
    std::optional<std::size_t> gpu;  // of finals: that of earlier ones, unless it is lost
  };
  // An agent has answered a lease, and holds these contents now. nullopt: the answer is dropped,
  // because the task has ended, or is one of finals that have moved to another GPU since.
  std::optional<Answered> answer(LeaseId lease, const std::vector<ContentId>& produced, Time now);

  // --- Orders ------------------------------------------------------------------------------------

  struct Assignment {
    LeaseId lease;
    TaskId task;
    AgentId agent;
    std::optional<std::size_t> gpu;  // the agent's; nothing for a compilation
    std::vector<ContentId> missing;  // contents whose bytes go with it
  };
  struct Orders {
    std::vector<Assignment> assignments;
    std::vector<LeaseId> unwanted;   // agents may end them early; each is answered all the same
    std::vector<TaskId> lost;        // these have ended
    std::vector<AgentId> dismissed;  // silent, or overdue: it has left, and may join again
  };
  // Those since the last call.
  Orders take_orders();

  // Dismisses the agents that are silent or overdue.
  void advance(Time now);

  // When advance() may next have something to do.
  std::optional<Time> next_deadline() const;

 private:
  static constexpr std::size_t kCompilers =
      0;  // the index of an agent's compilers; its GPUs follow

  // The compilers of an agent, or one of its GPUs.
  struct ServerId {
    AgentId agent;
    std::size_t index;
    auto operator<=>(const ServerId&) const = default;
  };
  struct Server {
    std::size_t width = 1;        // tasks under way at once
    std::size_t ahead = 0;        // and waiting there
    std::deque<LeaseId> held;     // unanswered, in the order of their assignment
    std::deque<TaskId> finals;    // queued for this GPU
    std::set<ProblemId> pinned;   // whose finals run here
    std::set<ProblemId> at_home;  // oldest first
  };
  struct Agent {
    GroupId group;
    std::vector<Server> servers;
    std::unordered_set<ContentId> contents;
    Time heard;
  };
  enum Queue { kToCompile, kToMeasure, kQueues };
  struct Group {
    Capacity capacity;
    // For each queue: servers that have a task less than their width, the least loaded first, and
    // problems with tasks that any server may take.
    std::array<std::set<std::pair<std::size_t, ServerId>>, kQueues> idle;
    std::array<std::set<ProblemId>, kQueues> ready;
    std::set<std::pair<std::size_t, ServerId>> by_homes;  // GPUs, or compilers where there is none
    std::set<ProblemId> homeless;
  };
  struct Problem {
    GroupId group;
    std::optional<ServerId> home, pin;
    std::array<std::deque<TaskId>, kQueues> ready;
    std::array<std::size_t, 3> pending{};  // by kind
    std::set<TaskId> tasks;
  };
  struct Task {
    ProblemId problem;
    TaskInfo info;
    std::optional<LeaseId> lease;      // nothing: queued
    std::vector<LeaseId> lost_leases;  // whose answer would count as well
    int losses = 0;
  };
  struct Lease {
    TaskId task;
    ServerId server;
    Time deadline;
    Time limit;
    bool is_wanted = true, is_lost = false;
  };

  static Queue queue_of(TaskKind kind) {
    return kind == TaskKind::compile ? kToCompile : kToMeasure;
  }
  static Queue queue_of(ServerId server) {
    return server.index == kCompilers ? kToCompile : kToMeasure;
  }
  Server& server(ServerId id) { return agents_.at(id.agent).servers[id.index]; }
  ServerId home_server(const Problem& problem, Queue queue) const {
    return {problem.home->agent, queue == kToCompile ? kCompilers : problem.home->index};
  }

  void note_load(ServerId id, std::size_t held_before);
  void set_home(ProblemId problem, std::optional<ServerId> home);
  void settle(GroupId group);
  void queue_up(TaskId task, bool at_front);
  void pin(ProblemId problem, ServerId gpu);
  void unqueue(TaskId task);
  void offer(ProblemId problem, Queue queue, Time now);
  void fill(ServerId server, Time now);
  std::optional<TaskId> next_task(ServerId id);
  std::optional<TaskId> pop(ProblemId problem, Queue queue);
  void assign(TaskId task, ServerId server, Time now);
  void finish(TaskId task);
  void want_no_more(LeaseId lease);

  SchedulerRules rules_;
  std::map<GroupKey, GroupId> group_ids_;
  std::map<GroupId, Group> groups_;
  std::map<AgentId, Agent> agents_;
  std::unordered_map<ProblemId, Problem> problems_;
  std::unordered_map<TaskId, Task> tasks_;
  std::unordered_map<LeaseId, Lease> leases_;
  std::set<std::pair<Time, LeaseId>> deadlines_;
  Time next_silence_ = Time::max();  // before it, no agent is silent
  Orders orders_;
  std::uint64_t next_id_ = 1;  // of anything
};

}  // namespace gemm_tune
