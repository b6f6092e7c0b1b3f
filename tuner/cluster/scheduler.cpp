// SPDX-License-Identifier: Apache-2.0
#include "tuner/cluster/scheduler.h"

#include <algorithm>

namespace gemm_tune {
namespace {

constexpr std::size_t kProblemsOfAGpu = 3;

std::size_t rounded_up(std::size_t count, std::size_t parts) { return (count + parts - 1) / parts; }

}  // namespace

std::size_t problems_at_once(const Capacity& group, std::size_t problems_left) {
  const std::size_t servers = group.gpus > 0 ? group.gpus : group.agents;
  return std::min(kProblemsOfAGpu * servers, problems_left);
}

Capacity share_of(const Capacity& group, std::size_t problems) {
  const std::size_t parts = std::max<std::size_t>(problems, 1);
  return {rounded_up(group.agents, parts), rounded_up(group.compilers, parts),
          rounded_up(group.gpus, parts)};
}

// --- Agents -------------------------------------------------------------------------------------

GroupId Scheduler::group(const GroupKey& key) {
  const auto [entry, is_new] = group_ids_.try_emplace(key, GroupId{next_id_});
  if (is_new) groups_[GroupId{next_id_++}];
  return entry->second;
}

Capacity Scheduler::capacity(GroupId group) const { return groups_.at(group).capacity; }

Scheduler::Joined Scheduler::join(const GroupKey& key, std::size_t compilers, std::size_t gpus,
                                  Time now) {
  const GroupId group_id = group(key);
  const AgentId id{next_id_++};
  Agent& agent = agents_[id];
  agent.group = group_id;
  agent.heard = now;
  agent.servers.resize(1 + gpus);
  agent.servers[kCompilers].width = compilers;
  agent.servers[kCompilers].ahead = compilers > 0 ? rules_.compilations_ahead : 0;
  for (std::size_t i = 1; i <= gpus; ++i) agent.servers[i].ahead = rules_.measurements_ahead;
  next_silence_ = std::min(next_silence_, now + rules_.silence);

  Group& group = groups_.at(group_id);
  const bool had_gpus = group.capacity.gpus > 0;
  ++group.capacity.agents;
  group.capacity.compilers += compilers;
  group.capacity.gpus += gpus;
  // The first GPUs of a group take its problems over from agents that only compile.
  if (!had_gpus && gpus > 0) {
    const auto compile_only = std::exchange(group.by_homes, {});
    for (const auto& [homes, id_of_server] : compile_only) {
      const std::set<ProblemId> problems = server(id_of_server).at_home;
      for (const ProblemId problem : problems) set_home(problem, std::nullopt);
    }
  }
  for (std::size_t i = 0; i <= gpus; ++i) {
    const ServerId at{id, i};
    if (agent.servers[i].width > 0) group.idle[queue_of(at)].emplace(0, at);
    const bool takes_homes = i == kCompilers ? group.capacity.gpus == 0 : true;
    if (takes_homes) group.by_homes.emplace(0, at);
  }
  settle(group_id);
  for (std::size_t i = 0; i <= gpus; ++i) fill({id, i}, now);
  return {id, group_id};
}

void Scheduler::leave(AgentId id, Departure departure, Time now) {
  const auto found = agents_.find(id);
  if (found == agents_.end()) return;
  const GroupId group_id = found->second.group;
  Group& group = groups_.at(group_id);
  Agent agent = std::move(found->second);
  std::vector<TaskId> again;  // in their order
  for (std::size_t i = 0; i < agent.servers.size(); ++i) {
    Server& left = agent.servers[i];
    const ServerId at{id, i};
    group.idle[queue_of(at)].erase({left.held.size(), at});
    group.by_homes.erase({left.at_home.size(), at});
    (i == kCompilers ? group.capacity.compilers : group.capacity.gpus) -= left.width;
    for (const ProblemId problem : left.pinned) problems_.at(problem).pin.reset();
    for (std::size_t k = 0; k < left.held.size(); ++k) {
      Lease& lease = leases_.at(left.held[k]);
      deadlines_.erase({lease.deadline, left.held[k]});
      if (!lease.is_wanted) {
        leases_.erase(left.held[k]);
        continue;
      }
      lease.is_lost = true;
      Task& task = tasks_.at(lease.task);
      task.lease.reset();
      task.lost_leases.push_back(left.held[k]);
      if (departure == Departure::lost && k < left.width) ++task.losses;
      again.push_back(lease.task);
    }
    again.insert(again.end(), left.finals.begin(), left.finals.end());
  }
  --group.capacity.agents;
  for (Server& left : agent.servers) {
    for (const ProblemId problem : left.at_home) {
      problems_.at(problem).home.reset();
      group.homeless.insert(problem);
    }
  }
  agents_.erase(found);
  settle(group_id);
  for (auto task = again.rbegin(); task != again.rend(); ++task) {
    if (tasks_.at(*task).losses < rules_.most_losses) {
      queue_up(*task, /*at_front=*/true);
    } else {
      orders_.lost.push_back(*task);
      finish(*task);
    }
  }
  for (const TaskId task : again) {
    const auto still = tasks_.find(task);
    if (still == tasks_.end()) continue;
    offer(still->second.problem, queue_of(still->second.info.kind), now);
  }
}

void Scheduler::heard(AgentId agent, Time now) {
  const auto found = agents_.find(agent);
  if (found != agents_.end()) found->second.heard = now;
}

void Scheduler::forgets(AgentId agent, ContentId content) {
  const auto found = agents_.find(agent);
  if (found != agents_.end()) found->second.contents.erase(content);
}

// --- Problems and their homes -------------------------------------------------------------------

ProblemId Scheduler::begin(GroupId group) {
  const ProblemId id{next_id_++};
  problems_[id].group = group;
  groups_.at(group).homeless.insert(id);
  settle(group);
  return id;
}

std::vector<TaskId> Scheduler::end(ProblemId id) {
  Problem& problem = problems_.at(id);
  const std::vector<TaskId> left(problem.tasks.begin(), problem.tasks.end());
  for (const TaskId task : left) cancel(task);
  if (problem.pin) server(*problem.pin).pinned.erase(id);
  set_home(id, std::nullopt);
  const GroupId group = problem.group;
  groups_.at(group).homeless.erase(id);
  problems_.erase(id);
  settle(group);
  return left;
}

// Without a home, the problem is homeless.
void Scheduler::set_home(ProblemId id, std::optional<ServerId> home) {
  Problem& problem = problems_.at(id);
  Group& group = groups_.at(problem.group);
  const auto change = [&](ServerId at, bool is_added) {
    Server& its = server(at);
    const bool is_listed = group.by_homes.erase({its.at_home.size(), at}) > 0;
    is_added ? (void)its.at_home.insert(id) : (void)its.at_home.erase(id);
    if (is_listed) group.by_homes.emplace(its.at_home.size(), at);
  };
  const auto change_all = [&](bool is_added) {
    change(*problem.home, is_added);
    if (problem.home->index != kCompilers) change({problem.home->agent, kCompilers}, is_added);
  };
  if (problem.home) change_all(false);
  problem.home = home;
  if (home) {
    change_all(true);
    group.homeless.erase(id);
  } else {
    group.homeless.insert(id);
  }
}

// Gives homes to the homeless, and evens their number out.
void Scheduler::settle(GroupId group_id) {
  Group& group = groups_.at(group_id);
  if (group.by_homes.empty()) return;
  while (!group.homeless.empty()) {
    set_home(*group.homeless.begin(), group.by_homes.begin()->second);
  }
  while (group.by_homes.rbegin()->first > group.by_homes.begin()->first + 1) {
    const ServerId fullest = group.by_homes.rbegin()->second;
    // The youngest has the fewest contents there.
    set_home(*server(fullest).at_home.rbegin(), group.by_homes.begin()->second);
  }
}

// --- Tasks --------------------------------------------------------------------------------------

TaskId Scheduler::submit(ProblemId problem_id, TaskInfo info, Time now) {
  Problem& problem = problems_.at(problem_id);
  const TaskId id{next_id_++};
  const TaskKind kind = info.kind;
  ++problem.pending[static_cast<std::size_t>(kind)];
  problem.tasks.insert(id);
  Task task;
  task.problem = problem_id;
  task.info = std::move(info);
  tasks_.emplace(id, std::move(task));
  queue_up(id, /*at_front=*/kind == TaskKind::finals);
  offer(problem_id, queue_of(kind), now);
  return id;
}

std::size_t Scheduler::pending(ProblemId problem, TaskKind kind) const {
  return problems_.at(problem).pending[static_cast<std::size_t>(kind)];
}

void Scheduler::cancel(TaskId id) {
  const auto task = tasks_.find(id);
  if (task == tasks_.end()) return;
  if (task->second.lease) orders_.unwanted.push_back(*task->second.lease);
  finish(id);
}

// Finals go to the GPU of earlier finals, the first to the problem's home, since the homes are even
// in number; where no GPU is there yet, to the first that comes. All other tasks wait at their
// problem.
void Scheduler::queue_up(TaskId id, bool at_front) {
  const Task& task = tasks_.at(id);
  Problem& problem = problems_.at(task.problem);
  if (task.info.kind == TaskKind::finals && !problem.pin && problem.home &&
      problem.home->index != kCompilers) {
    pin(task.problem, *problem.home);
  }
  const bool is_pinned = task.info.kind == TaskKind::finals && problem.pin;
  const Queue queue = queue_of(task.info.kind);
  std::deque<TaskId>& tasks = is_pinned ? server(*problem.pin).finals : problem.ready[queue];
  at_front && !is_pinned ? tasks.push_front(id) : tasks.push_back(id);
  if (!is_pinned) groups_.at(problem.group).ready[queue].insert(task.problem);
}

void Scheduler::pin(ProblemId id, ServerId gpu) {
  Problem& problem = problems_.at(id);
  problem.pin = gpu;
  Server& its = server(gpu);
  its.pinned.insert(id);
  // Finals that waited while no GPU was there.
  std::deque<TaskId>& ready = problem.ready[kToMeasure];
  const auto first = std::stable_partition(ready.begin(), ready.end(), [this](TaskId task) {
    return tasks_.at(task).info.kind != TaskKind::finals;
  });
  its.finals.insert(its.finals.end(), first, ready.end());
  ready.erase(first, ready.end());
  if (ready.empty()) groups_.at(problem.group).ready[kToMeasure].erase(id);
}

void Scheduler::unqueue(TaskId id) {
  const Task& task = tasks_.at(id);
  Problem& problem = problems_.at(task.problem);
  if (problem.pin) std::erase(server(*problem.pin).finals, id);
  const Queue queue = queue_of(task.info.kind);
  std::erase(problem.ready[queue], id);
  if (problem.ready[queue].empty()) groups_.at(problem.group).ready[queue].erase(task.problem);
}

// Looks for a server for the problem's next task: its home if that is idle, else the least loaded
// of the group, else its home as the next task there.
void Scheduler::offer(ProblemId id, Queue queue, Time now) {
  const Problem& problem = problems_.at(id);
  if (queue == kToMeasure && problem.pin && !server(*problem.pin).finals.empty()) {
    fill(*problem.pin, now);
  }
  if (problem.ready[queue].empty()) return;
  const auto& idle = groups_.at(problem.group).idle[queue];
  const bool has_home = problem.home && (queue == kToCompile || problem.home->index != kCompilers);
  if (has_home) {
    const ServerId home = home_server(problem, queue);
    const Server& its = server(home);
    if (its.held.size() < its.width || idle.empty()) return fill(home, now);
  }
  if (!idle.empty()) fill(idle.begin()->second, now);
}

void Scheduler::fill(ServerId id, Time now) {
  while (const std::optional<TaskId> task = next_task(id)) assign(*task, id, now);
}

// Those that wait at the server behind others are of problems at home: whichever server is idle
// first takes the tasks of the others. None waits behind finals, which take seconds.
std::optional<TaskId> Scheduler::next_task(ServerId id) {
  Server& at = server(id);
  const std::size_t held = at.held.size();
  if (held >= at.width + at.ahead) return std::nullopt;
  const bool is_idle = held < at.width;
  if (!is_idle) {
    const Lease& first = leases_.at(at.held.front());
    const auto task = tasks_.find(first.task);
    if (task != tasks_.end() && task->second.info.kind == TaskKind::finals) return std::nullopt;
  }
  if (!at.finals.empty()) {
    const TaskId task = at.finals.front();
    at.finals.pop_front();
    return task;
  }
  for (const ProblemId problem : at.at_home) {
    if (const auto task = pop(problem, queue_of(id))) return task;
  }
  const auto& ready = groups_.at(agents_.at(id.agent).group).ready[queue_of(id)];
  return is_idle && !ready.empty() ? pop(*ready.begin(), queue_of(id)) : std::nullopt;
}

std::optional<TaskId> Scheduler::pop(ProblemId id, Queue queue) {
  Problem& problem = problems_.at(id);
  std::deque<TaskId>& tasks = problem.ready[queue];
  if (tasks.empty()) return std::nullopt;
  const TaskId task = tasks.front();
  tasks.pop_front();
  if (tasks.empty()) groups_.at(problem.group).ready[queue].erase(id);
  return task;
}

// Keeps the list of idle servers: those with a task less than their width.
void Scheduler::note_load(ServerId id, std::size_t held_before) {
  const Server& at = server(id);
  auto& idle = groups_.at(agents_.at(id.agent).group).idle[queue_of(id)];
  idle.erase({held_before, id});
  if (at.held.size() < at.width) idle.emplace(at.held.size(), id);
}

void Scheduler::assign(TaskId id, ServerId at, Time now) {
  Task& task = tasks_.at(id);
  Problem& problem = problems_.at(task.problem);
  Server& its = server(at);
  if (task.info.kind == TaskKind::finals && !problem.pin) pin(task.problem, at);
  Time before{};  // at most, until the server comes to this task
  for (const LeaseId lease : its.held) before += leases_.at(lease).limit;
  const LeaseId lease{next_id_++};
  const Time deadline =
      now + before / static_cast<Time::rep>(its.width) + task.info.limit + rules_.grace;
  leases_.emplace(lease, Lease{id, at, deadline, task.info.limit});
  deadlines_.emplace(deadline, lease);
  task.lease = lease;
  its.held.push_back(lease);
  note_load(at, its.held.size() - 1);

  Assignment order{lease, id, at.agent, std::nullopt, {}};
  if (at.index != kCompilers) order.gpu = at.index - 1;
  auto& contents = agents_.at(at.agent).contents;
  for (const ContentId content : task.info.contents) {
    if (contents.insert(content).second) order.missing.push_back(content);
  }
  orders_.assignments.push_back(std::move(order));
}

std::optional<Scheduler::Answered> Scheduler::answer(LeaseId id,
                                                     const std::vector<ContentId>& produced,
                                                     Time now) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return std::nullopt;
  const Lease lease = found->second;
  const auto agent = agents_.find(lease.server.agent);
  if (agent != agents_.end()) {
    agent->second.heard = now;
    agent->second.contents.insert(produced.begin(), produced.end());
    Server& its = server(lease.server);
    const std::size_t held = its.held.size();
    std::erase(its.held, id);
    note_load(lease.server, held);
    deadlines_.erase({lease.deadline, id});
  }
  std::optional<Answered> answered;
  if (lease.is_wanted) {
    const Task& task = tasks_.at(lease.task);
    const bool is_finals = task.info.kind == TaskKind::finals;
    if (!is_finals || problems_.at(task.problem).pin == lease.server) {
      answered = Answered{lease.task, lease.server.agent, std::nullopt};
      if (lease.server.index != kCompilers) answered->gpu = lease.server.index - 1;
      if (task.lease && *task.lease != id) orders_.unwanted.push_back(*task.lease);
      finish(lease.task);
    }
  }
  // Gone already where finish() knew it as a lost one.
  leases_.erase(id);
  if (agent != agents_.end()) fill(lease.server, now);
  return answered;
}

// A lease that is under way keeps its place at the agent until it is answered.
void Scheduler::want_no_more(LeaseId id) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return;
  lease->second.is_wanted = false;
  if (lease->second.is_lost) leases_.erase(lease);
}

// Forgets the task, whatever its state.
void Scheduler::finish(TaskId id) {
  const Task& task = tasks_.at(id);
  if (task.lease) {
    want_no_more(*task.lease);
  } else {
    unqueue(id);
  }
  for (const LeaseId lost : task.lost_leases) want_no_more(lost);
  Problem& problem = problems_.at(task.problem);
  --problem.pending[static_cast<std::size_t>(task.info.kind)];
  problem.tasks.erase(id);
  tasks_.erase(id);
}

// --- Orders -------------------------------------------------------------------------------------

Scheduler::Orders Scheduler::take_orders() { return std::exchange(orders_, {}); }

void Scheduler::advance(Time now) {
  const auto dismiss = [&](AgentId agent) {
    orders_.dismissed.push_back(agent);
    leave(agent, Departure::lost, now);
  };
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    dismiss(leases_.at(deadlines_.begin()->second).server.agent);
  }
  if (now < next_silence_) return;
  std::vector<AgentId> silent;
  next_silence_ = Time::max();
  for (const auto& [id, agent] : agents_) {
    if (agent.heard + rules_.silence <= now) {
      silent.push_back(id);
    } else {
      next_silence_ = std::min(next_silence_, agent.heard + rules_.silence);
    }
  }
  for (const AgentId agent : silent) dismiss(agent);
}

std::optional<Scheduler::Time> Scheduler::next_deadline() const {
  std::optional<Time> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (!agents_.empty()) next = std::min(next.value_or(next_silence_), next_silence_);
  return next;
}

}  // namespace gemm_tune
