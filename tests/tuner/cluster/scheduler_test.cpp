// SPDX-License-Identifier: Apache-2.0
#include "tuner/cluster/scheduler.h"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using Assignment = Scheduler::Assignment;
using Departure = Scheduler::Departure;

const GroupKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};
const GroupKey kA100{"sm_80", "NVIDIA A100-SXM4-80GB", 108};

TaskInfo compilation() { return {TaskKind::compile, 60s, {}}; }
TaskInfo measurement(std::vector<ContentId> contents = {}) {
  return {TaskKind::measure, 20s, std::move(contents)};
}
TaskInfo finals() { return {TaskKind::finals, 40s, {}}; }

// Without tasks ahead, so that an agent has what it works on.
SchedulerRules nothing_ahead() {
  SchedulerRules rules;
  rules.compilations_ahead = rules.measurements_ahead = 0;
  return rules;
}

std::vector<AgentId> agents_given_work(Scheduler& scheduler) {
  std::vector<AgentId> agents;
  for (const Assignment& one : scheduler.take_orders().assignments) agents.push_back(one.agent);
  return agents;
}

TEST(ClusterShareTest, ThreeProblemsForEachGpuAndAllGpusForTheLastProblems) {
  const Capacity group{.agents = 2, .compilers = 32, .gpus = 8};
  EXPECT_EQ(problems_at_once(group, 5000), 24U);
  EXPECT_EQ(problems_at_once(group, 3), 3U);
  EXPECT_EQ(problems_at_once({.agents = 2, .compilers = 32, .gpus = 0}, 5000), 6U);
  EXPECT_EQ(share_of(group, 8).gpus, 1U);
  EXPECT_EQ(share_of(group, 8).compilers, 4U);
  EXPECT_EQ(share_of(group, 3).gpus, 3U);
  EXPECT_EQ(share_of(group, 1).compilers, 32U);
}

TEST(ClusterSchedulerTest, GivesATaskToAnIdleGpuOfTheGroupAndToNoOther) {
  Scheduler scheduler(nothing_ahead());
  const auto other = scheduler.join(kA100, 4, 2, 0s);
  const auto ours = scheduler.join(kH100, 4, 2, 0s);
  EXPECT_NE(other.group, ours.group);
  const ProblemId problem = scheduler.begin(ours.group);
  for (int i = 0; i < 3; ++i) scheduler.submit(problem, measurement(), 0s);
  const auto given = scheduler.take_orders().assignments;
  ASSERT_THAT(given, SizeIs(2));
  EXPECT_EQ(given[0].agent, ours.agent);
  EXPECT_EQ(given[1].agent, ours.agent);
  EXPECT_NE(given[0].gpu, given[1].gpu);
  EXPECT_EQ(scheduler.pending(problem, TaskKind::measure), 3U);
  EXPECT_TRUE(scheduler.answer(given[0].lease, {}, 1s));
  const auto next = scheduler.take_orders().assignments;
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(next[0].gpu, given[0].gpu);
}

TEST(ClusterSchedulerTest, PrefersTheProblemsHomeAndThenTheLeastLoadedAgent) {
  Scheduler scheduler(nothing_ahead());
  const auto first = scheduler.join(kH100, 2, 1, 0s);
  const auto second = scheduler.join(kH100, 4, 1, 0s);
  const ProblemId a = scheduler.begin(first.group), b = scheduler.begin(first.group);
  for (int i = 0; i < 3; ++i) scheduler.submit(a, compilation(), 0s);
  scheduler.submit(b, compilation(), 0s);
  EXPECT_THAT(agents_given_work(scheduler),
              ElementsAre(first.agent, first.agent, second.agent, second.agent));
}

TEST(ClusterSchedulerTest, AGpuTakesAnyProblemsTaskWhileTheOthersWaitForTheirCompilations) {
  Scheduler scheduler(nothing_ahead());
  const auto agent = scheduler.join(kH100, 2, 1, 0s);
  const ProblemId older = scheduler.begin(agent.group), younger = scheduler.begin(agent.group);
  scheduler.submit(older, compilation(), 0s);
  scheduler.submit(younger, compilation(), 0s);
  const auto compiling = scheduler.take_orders().assignments;
  ASSERT_THAT(compiling, SizeIs(2)) << "no compiler is kept for the older problem";
  scheduler.answer(compiling[1].lease, {}, 1s);
  const TaskId ready = scheduler.submit(younger, measurement(), 1s);
  const auto given = scheduler.take_orders().assignments;
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].task, ready);
  EXPECT_EQ(given[0].gpu, 0U);
}

// Of two agents, where one task may wait at a GPU.
struct TwoGpus {
  Scheduler scheduler{[] {
    SchedulerRules rules;
    rules.measurements_ahead = 1;
    return rules;
  }()};
  Scheduler::Joined first = scheduler.join(kH100, 0, 1, 0s),
                    second = scheduler.join(kH100, 0, 1, 0s);
  ProblemId problem = scheduler.begin(first.group);
};

TEST(ClusterSchedulerTest, HasATaskWaitAtItsHomeOnlyWhereNoGpuIsIdle) {
  TwoGpus gpus;
  auto& [scheduler, first, second, problem] = gpus;
  for (int i = 0; i < 5; ++i) scheduler.submit(problem, measurement(), 0s);
  EXPECT_THAT(agents_given_work(scheduler), ElementsAre(first.agent, second.agent, first.agent));
}

TEST(ClusterSchedulerTest, TasksThatWaitAtAGpuAreOfProblemsAtHomeThere) {
  TwoGpus gpus;
  auto& [scheduler, first, second, problem] = gpus;
  for (int i = 0; i < 6; ++i) scheduler.submit(problem, measurement(), 0s);
  for (const Assignment& given : scheduler.take_orders().assignments) {
    if (given.agent == second.agent) scheduler.answer(given.lease, {}, 1s);
  }
  const auto next = scheduler.take_orders().assignments;
  ASSERT_THAT(next, SizeIs(1)) << "the other waits for whichever GPU is idle first";
  EXPECT_EQ(next[0].agent, second.agent);
}

TEST(ClusterSchedulerTest, HasNoTaskWaitBehindFinals) {
  Scheduler scheduler;
  const auto agent = scheduler.join(kH100, 0, 1, 0s);
  const ProblemId problem = scheduler.begin(agent.group);
  scheduler.submit(problem, finals(), 0s);
  scheduler.submit(problem, measurement(), 0s);
  EXPECT_THAT(scheduler.take_orders().assignments, SizeIs(1));
}

TEST(ClusterSchedulerTest, AllFinalsOfAProblemRunOnOneGpuWhileOthersAreIdle) {
  Scheduler scheduler(nothing_ahead());
  const auto agent = scheduler.join(kH100, 4, 4, 0s);
  const ProblemId problem = scheduler.begin(agent.group);
  for (int i = 0; i < 3; ++i) scheduler.submit(problem, finals(), 0s);
  std::optional<std::size_t> gpu;
  for (int i = 0; i < 3; ++i) {
    const auto given = scheduler.take_orders().assignments;
    ASSERT_THAT(given, SizeIs(1));
    if (i == 0) gpu = given[0].gpu;
    EXPECT_EQ(given[0].gpu, gpu);
    const auto answered = scheduler.answer(given[0].lease, {}, 1s);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->gpu, gpu);
  }
}

TEST(ClusterSchedulerTest, FinalsOfProblemsAreSpreadEvenlyOverTheGpus) {
  SchedulerRules rules = nothing_ahead();
  rules.measurements_ahead = 1;
  Scheduler scheduler(rules);
  const auto agent = scheduler.join(kH100, 4, 4, 0s);
  std::vector<ProblemId> problems;
  for (int i = 0; i < 8; ++i) problems.push_back(scheduler.begin(agent.group));
  std::map<std::optional<std::size_t>, int> finals_of;  // by GPU
  for (const ProblemId problem : problems) scheduler.submit(problem, finals(), 0s);
  for (int i = 0; i < 2; ++i) {
    for (const Assignment& given : scheduler.take_orders().assignments) {
      ++finals_of[given.gpu];
      scheduler.answer(given.lease, {}, 1s);
    }
  }
  ASSERT_THAT(finals_of, SizeIs(4));
  for (const auto& [gpu, count] : finals_of) EXPECT_EQ(count, 2);
}

TEST(ClusterSchedulerTest, FinalsMoveOnlyWithTheirAgentAndTheAnswerNamesIt) {
  Scheduler scheduler(nothing_ahead());
  scheduler.join(kH100, 4, 1, 0s);
  scheduler.join(kH100, 4, 1, 0s);
  const ProblemId problem = scheduler.begin(scheduler.group(kH100));
  scheduler.submit(problem, finals(), 0s);
  const Assignment first = scheduler.take_orders().assignments.at(0);
  EXPECT_EQ(scheduler.answer(first.lease, {}, 1s)->agent, first.agent);
  scheduler.submit(problem, finals(), 1s);
  const Assignment second = scheduler.take_orders().assignments.at(0);
  EXPECT_EQ(second.agent, first.agent);
  scheduler.leave(first.agent, Departure::lost, 2s);
  const Assignment third = scheduler.take_orders().assignments.at(0);
  EXPECT_EQ(third.task, second.task);
  EXPECT_NE(third.agent, first.agent);
  // An answer from before the move is of another GPU.
  EXPECT_FALSE(scheduler.answer(second.lease, {}, 3s));
  EXPECT_EQ(scheduler.answer(third.lease, {}, 4s)->agent, third.agent);
}

TEST(ClusterSchedulerTest, BytesGoOnlyToAgentsThatLackThem) {
  Scheduler scheduler(nothing_ahead());
  const auto agent = scheduler.join(kH100, 1, 1, 0s);
  const ProblemId problem = scheduler.begin(agent.group);
  const ContentId here{7}, elsewhere{8};
  scheduler.submit(problem, compilation(), 0s);
  scheduler.answer(scheduler.take_orders().assignments.at(0).lease, {here}, 1s);
  const auto missing = [&](TaskInfo info) {
    scheduler.submit(problem, std::move(info), 1s);
    const Assignment given = scheduler.take_orders().assignments.at(0);
    scheduler.answer(given.lease, {}, 2s);
    return given.missing;
  };
  EXPECT_THAT(missing(measurement({here, elsewhere})), ElementsAre(elsewhere));
  EXPECT_THAT(missing(measurement({here, elsewhere})), IsEmpty());
  scheduler.forgets(agent.agent, here);
  EXPECT_THAT(missing(measurement({here, elsewhere})), ElementsAre(here));
}

TEST(ClusterSchedulerTest, TheFirstAnswerCountsAndLaterOnesAreDropped) {
  Scheduler scheduler(nothing_ahead());
  const auto first = scheduler.join(kH100, 1, 1, 0s);
  scheduler.join(kH100, 1, 1, 0s);
  const ProblemId problem = scheduler.begin(first.group);
  const TaskId task = scheduler.submit(problem, measurement(), 0s);
  const Assignment early = scheduler.take_orders().assignments.at(0);
  scheduler.leave(early.agent, Departure::lost, 1s);
  const Assignment again = scheduler.take_orders().assignments.at(0);
  EXPECT_EQ(again.task, task);
  EXPECT_EQ(scheduler.answer(early.lease, {}, 2s)->task, task);
  EXPECT_THAT(scheduler.take_orders().unwanted, ElementsAre(again.lease));
  EXPECT_FALSE(scheduler.answer(again.lease, {}, 3s));
  EXPECT_FALSE(scheduler.answer(again.lease, {}, 3s));
  EXPECT_EQ(scheduler.pending(problem, TaskKind::measure), 0U);
  // Its GPU is free again.
  scheduler.submit(problem, measurement(), 4s);
  EXPECT_THAT(scheduler.take_orders().assignments, SizeIs(1));
}

TEST(ClusterSchedulerTest, ATaskIsLostOnceThreeAgentsWereLostWhileTheyWorkedOnIt) {
  Scheduler scheduler(nothing_ahead());
  for (int i = 0; i < 5; ++i) scheduler.join(kH100, 1, 1, 0s);
  const ProblemId problem = scheduler.begin(scheduler.group(kH100));
  const TaskId killer = scheduler.submit(problem, measurement(), 0s);
  for (int i = 0; i < 3; ++i) {
    Scheduler::Orders orders = scheduler.take_orders();
    EXPECT_THAT(orders.lost, IsEmpty());
    scheduler.leave(orders.assignments.at(0).agent, Departure::lost, 1s);
  }
  const Scheduler::Orders orders = scheduler.take_orders();
  EXPECT_THAT(orders.lost, ElementsAre(killer));
  EXPECT_THAT(orders.assignments, IsEmpty());
  EXPECT_EQ(scheduler.capacity(scheduler.group(kH100)).agents, 2U);
}

TEST(ClusterSchedulerTest, ATaskThatWaitedAtALostAgentIsNotSuspected) {
  SchedulerRules rules;
  rules.most_losses = 1;
  Scheduler scheduler(rules);
  const auto agent = scheduler.join(kH100, 1, 1, 0s);
  const ProblemId problem = scheduler.begin(agent.group);
  const TaskId at_work = scheduler.submit(problem, measurement(), 0s);
  scheduler.submit(problem, measurement(), 0s);
  EXPECT_THAT(scheduler.take_orders().assignments, SizeIs(2));
  scheduler.leave(agent.agent, Departure::lost, 1s);
  EXPECT_THAT(scheduler.take_orders().lost, ElementsAre(at_work));
  EXPECT_EQ(scheduler.pending(problem, TaskKind::measure), 1U);
}

TEST(ClusterSchedulerTest, AnAgentThatLeavesInOrderCountsAgainstNoTask) {
  SchedulerRules rules;
  rules.most_losses = 1;
  Scheduler scheduler(rules);
  const auto agent = scheduler.join(kH100, 1, 1, 0s);
  scheduler.submit(scheduler.begin(agent.group), measurement(), 0s);
  scheduler.leave(agent.agent, Departure::in_order, 1s);
  EXPECT_THAT(scheduler.take_orders().lost, IsEmpty());
  scheduler.join(kH100, 1, 1, 2s);
  EXPECT_THAT(scheduler.take_orders().assignments, SizeIs(1));
}

TEST(ClusterSchedulerTest, AnOverdueAgentIsDismissedAndItsTaskGivenOutAgain) {
  SchedulerRules rules = nothing_ahead();
  rules.grace = 10s;
  rules.silence = 1h;
  Scheduler scheduler(rules);
  scheduler.join(kH100, 0, 1, 0s);
  scheduler.join(kH100, 0, 1, 0s);
  scheduler.submit(scheduler.begin(scheduler.group(kH100)), measurement(), 5s);
  const Assignment first = scheduler.take_orders().assignments.at(0);
  EXPECT_EQ(scheduler.next_deadline(), 35s);
  scheduler.advance(34s);
  EXPECT_THAT(scheduler.take_orders().dismissed, IsEmpty());
  scheduler.advance(35s);
  const Scheduler::Orders orders = scheduler.take_orders();
  EXPECT_THAT(orders.dismissed, ElementsAre(first.agent));
  EXPECT_EQ(orders.assignments.at(0).task, first.task);
}

TEST(ClusterSchedulerTest, ASilentAgentIsDismissedAndOneThatIsHeardStays) {
  SchedulerRules rules;
  rules.silence = 60s;
  Scheduler scheduler(rules);
  const auto silent = scheduler.join(kH100, 1, 1, 0s);
  const auto heard = scheduler.join(kH100, 1, 1, 0s);
  scheduler.heard(heard.agent, 30s);
  ASSERT_EQ(scheduler.next_deadline(), 60s);
  scheduler.advance(60s);
  EXPECT_THAT(scheduler.take_orders().dismissed, ElementsAre(silent.agent));
  EXPECT_EQ(scheduler.next_deadline(), 90s);
}

TEST(ClusterSchedulerTest, TheEndOfAProblemNamesItsTasksAndDropsTheirAnswers) {
  Scheduler scheduler(nothing_ahead());
  const auto agent = scheduler.join(kH100, 1, 1, 0s);
  const ProblemId problem = scheduler.begin(agent.group);
  const TaskId a = scheduler.submit(problem, measurement(), 0s);
  const TaskId b = scheduler.submit(problem, measurement(), 0s);
  const Assignment given = scheduler.take_orders().assignments.at(0);
  EXPECT_THAT(scheduler.end(problem), ElementsAre(a, b));
  EXPECT_THAT(scheduler.take_orders().unwanted, ElementsAre(given.lease));
  scheduler.submit(scheduler.begin(agent.group), measurement(), 1s);
  EXPECT_THAT(scheduler.take_orders().assignments, IsEmpty()) << "the GPU is still at work";
  EXPECT_FALSE(scheduler.answer(given.lease, {}, 2s));
  EXPECT_THAT(scheduler.take_orders().assignments, SizeIs(1));
}

TEST(ClusterSchedulerTest, AgentsWithoutGpusCompileForTheOthers) {
  Scheduler scheduler(nothing_ahead());
  const auto compilers = scheduler.join(kH100, 8, 0, 0s);
  const ProblemId problem = scheduler.begin(compilers.group);
  scheduler.submit(problem, measurement(), 0s);
  scheduler.submit(problem, compilation(), 0s);
  const auto first = scheduler.take_orders().assignments;
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].gpu, std::nullopt);
  const auto gpu = scheduler.join(kH100, 0, 1, 1s);
  const auto second = scheduler.take_orders().assignments;
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].agent, gpu.agent);
  EXPECT_EQ(second[0].gpu, 0U);
}

// A cluster where anything may happen at any time. It knows by itself what each agent works on, and
// holds every order and answer of the scheduler against that.
class RandomCluster {
 public:
  explicit RandomCluster(unsigned seed) : random_(seed), scheduler_(rules()) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    // From here on nothing fails, and all must end.
    is_calm_ = true;
    for (const GroupKey& key : {kH100, kA100}) join(key);
    for (int i = 0; i < 10000 && !open_.empty(); ++i) step();
    EXPECT_THAT(open_, IsEmpty()) << "tasks that never ended";
    // All servers are free: the last agents of each group can be filled again at once.
    while (!under_way_.empty()) answer(under_way_.begin()->first);
    for (const GroupKey& key : {kH100, kA100}) {
      const GroupId group = scheduler_.group(key);
      const std::size_t gpus = scheduler_.capacity(group).gpus;
      const ProblemId problem = scheduler_.begin(group);
      for (std::size_t k = 0; k < gpus; ++k) scheduler_.submit(problem, measurement(), now_);
      EXPECT_THAT(scheduler_.take_orders().assignments, SizeIs(gpus)) << "a lease was lost";
    }
  }

 private:
  struct TaskState {
    ProblemId problem;
    TaskKind kind = TaskKind::compile;
    ContentId content{};
    int losses = 0;
  };
  struct LeaseState {
    TaskId task;
    AgentId agent;
    std::optional<std::size_t> gpu;
    bool is_late = false;  // its agent is lost
  };
  struct AgentState {
    GroupId group;
    std::size_t compilers, gpus;
    std::vector<LeaseId> held;
    std::set<ContentId> contents;
  };
  struct ProblemState {
    GroupId group;
    std::optional<std::pair<AgentId, std::size_t>> pin;
  };

  static SchedulerRules rules() {
    SchedulerRules rules;
    rules.grace = 100s;
    rules.silence = 1000s;
    return rules;
  }

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  template <class Container>
  auto any_of(Container& from) {
    return std::next(from.begin(), static_cast<std::ptrdiff_t>(below(from.size())));
  }

  void join(const GroupKey& key) {
    const std::size_t compilers = 1 + below(4), gpus = 1 + below(3);
    const auto joined = scheduler_.join(key, compilers, gpus, now_);
    agents_[joined.agent] = {joined.group, compilers, gpus, {}, {}};
    obey();
  }

  // What the agent had, as this class saw it.
  void note_loss(AgentId id, bool counts) {
    const AgentState agent = agents_.at(id);
    std::map<std::optional<std::size_t>, std::size_t> before;  // by GPU
    for (const LeaseId lease : agent.held) {
      LeaseState& state = under_way_.at(lease);
      const std::size_t width = state.gpu ? 1 : agent.compilers;
      const bool at_work = before[state.gpu]++ < width;
      const auto task = open_.find(state.task);
      if (counts && at_work && task != open_.end()) ++task->second.losses;
      state.is_late = true;
      late_.insert(*under_way_.find(lease));
      under_way_.erase(lease);
    }
    for (auto& [problem, state] : problems_) {
      if (state.pin && state.pin->first == id) state.pin.reset();
    }
    agents_.erase(id);
  }

  void obey() {
    Scheduler::Orders orders = scheduler_.take_orders();
    for (const AgentId agent : orders.dismissed) note_loss(agent, true);
    for (const TaskId task : orders.lost) {
      ASSERT_EQ(open_.count(task), 1U) << "ended twice";
      EXPECT_EQ(open_.at(task).losses, 3);
      open_.erase(task);
    }
    for (const Assignment& given : orders.assignments) obey(given);
  }

  void obey(const Assignment& given) {
    const auto agent = agents_.find(given.agent);
    ASSERT_NE(agent, agents_.end()) << "a task for an agent that has left";
    const auto task = open_.find(given.task);
    ASSERT_NE(task, open_.end()) << "a task that has ended";
    EXPECT_LT(task->second.losses, 3);
    ProblemState& problem = problems_.at(task->second.problem);
    EXPECT_EQ(agent->second.group, problem.group);
    EXPECT_EQ(given.gpu.has_value(), task->second.kind != TaskKind::compile);
    for (const auto& [lease, state] : under_way_) {
      EXPECT_NE(state.task, given.task) << "two leases";
    }
    EXPECT_LT(given.gpu.value_or(0), agent->second.gpus);
    if (task->second.kind == TaskKind::finals) {
      const std::pair<AgentId, std::size_t> here(given.agent, *given.gpu);
      EXPECT_EQ(problem.pin.value_or(here), here) << "finals of a problem on two GPUs";
      problem.pin = here;
    }
    std::size_t beside = 0;
    for (const LeaseId lease : agent->second.held) beside += under_way_.at(lease).gpu == given.gpu;
    EXPECT_LT(beside, given.gpu ? 2 : agent->second.compilers + 2);
    for (const ContentId content : given.missing) {
      EXPECT_TRUE(agent->second.contents.insert(content).second) << "bytes travel twice";
    }
    EXPECT_EQ(agent->second.contents.count(task->second.content), 1U) << "bytes are missing";
    agent->second.held.push_back(given.lease);
    under_way_[given.lease] = {given.task, given.agent, given.gpu};
  }

  void answer(LeaseId lease) {
    const bool is_late = late_.count(lease) > 0;
    const LeaseState state = is_late ? late_.at(lease) : under_way_.at(lease);
    if (!is_late) std::erase(agents_.at(state.agent).held, lease);
    under_way_.erase(lease);
    const auto task = open_.find(state.task);
    const bool is_finals = task != open_.end() && task->second.kind == TaskKind::finals;
    const bool is_due = task != open_.end() && !(is_finals && is_late);
    const auto answered = scheduler_.answer(lease, {}, now_);
    EXPECT_EQ(answered.has_value(), is_due && !answered_.count(lease));
    answered_.insert(lease);
    if (answered) {
      EXPECT_EQ(answered->task, state.task);
      EXPECT_EQ(answered->agent, state.agent);
      EXPECT_EQ(answered->gpu, state.gpu);
      open_.erase(state.task);
    }
    obey();
  }

  void submit() {
    if (problems_.empty()) return;
    const auto problem = any_of(problems_);
    const TaskKind kind = static_cast<TaskKind>(below(3));
    const ContentId content{below(9)};
    const TaskId task = scheduler_.submit(problem->first, {kind, 20s, {content}}, now_);
    open_[task] = {problem->first, kind, content};
    obey();
  }

  void step() {
    now_ += std::chrono::milliseconds(below(2000));
    const std::size_t what = below(is_calm_ ? 10 : 20);
    if (what < 10 && !under_way_.empty()) {
      answer(any_of(under_way_)->first);
    } else if (is_calm_) {
      return;
    } else if (what < 15) {
      submit();
    } else if (what == 15) {
      const GroupId group = scheduler_.group(below(2) ? kH100 : kA100);
      problems_[scheduler_.begin(group)] = {group, {}};
    } else if (what == 16) {
      if (agents_.size() < 8) join(below(2) ? kH100 : kA100);
    } else if (what == 17) {
      lose_or_end();
    } else if (what == 18 && !late_.empty()) {
      answer(any_of(late_)->first);  // late, and sometimes twice
    } else if (what == 19 && !open_.empty()) {
      const TaskId task = any_of(open_)->first;
      scheduler_.cancel(task);
      open_.erase(task);
      obey();
    }
    scheduler_.advance(now_);
    obey();
  }

  void lose_or_end() {
    if (below(2) && !agents_.empty()) {
      const AgentId agent = any_of(agents_)->first;
      const bool counts = below(2) > 0;
      note_loss(agent, counts);
      scheduler_.leave(agent, counts ? Departure::lost : Departure::in_order, now_);
    } else if (!problems_.empty()) {
      const ProblemId problem = any_of(problems_)->first;
      std::set<TaskId> left;
      for (const auto& [task, state] : open_) {
        if (state.problem == problem) left.insert(task);
      }
      const std::vector<TaskId> named = scheduler_.end(problem);
      EXPECT_EQ(std::set<TaskId>(named.begin(), named.end()), left);
      for (const TaskId task : left) open_.erase(task);
      problems_.erase(problem);
    }
    obey();
  }

  std::mt19937 random_;
  Scheduler scheduler_;
  Scheduler::Time now_{};
  bool is_calm_ = false;
  std::map<AgentId, AgentState> agents_;
  std::map<ProblemId, ProblemState> problems_;
  std::map<TaskId, TaskState> open_;
  std::map<LeaseId, LeaseState> under_way_, late_;
  std::set<LeaseId> answered_;
};

TEST(ClusterSchedulerTest, WhateverHappensEveryTaskEndsOnceInItsGroupAndFinalsOnOneGpu) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomCluster(seed).run(1500);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace gemm_tune
