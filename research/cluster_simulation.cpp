// SPDX-License-Identifier: Apache-2.0
#include "research/cluster_simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr double kSlice = 0.02;  // seconds after which another search gets the core
// As tuner/job/trials.cpp has it: candidates in work beyond one for each compiler.
constexpr std::size_t kCompilingAhead = 2, kMeasuringAhead = 4;

// Virtual time and what happens in it.
class Events {
 public:
  using Action = std::function<void()>;

  double now() const { return now_; }
  std::uint64_t count() const { return count_; }
  void at(double time, Action action) {
    queue_.push({std::max(time, now_), next_++, std::move(action)});
  }
  void after(double seconds, Action action) { at(now_ + seconds, std::move(action)); }

  bool step() {
    if (queue_.empty()) return false;
    // The action may add events.
    const Event event = std::move(const_cast<Event&>(queue_.top()));
    queue_.pop();
    now_ = event.time;
    ++count_;
    event.action();
    return true;
  }

 private:
  struct Event {
    double time;
    std::uint64_t number;  // events of one moment happen in their order
    Action action;
    bool operator<(const Event& other) const {
      return std::pair(other.time, other.number) < std::pair(time, number);
    }
  };
  double now_ = 0;
  std::uint64_t next_ = 0, count_ = 0;
  std::priority_queue<Event> queue_;
};

// A few equal servers and a queue: cores, the broker, a link.
class Servers {
 public:
  Servers(Events& events, std::size_t count) : events_(events), free_(count) {}

  double busy_s() const { return busy_s_; }

  // Serves in slices, in turn with others.
  void serve(double seconds, Events::Action done) {
    queue_.push_back({seconds, std::move(done)});
    start();
  }

 private:
  struct Job {
    double left;
    Events::Action done;
  };

  void start() {
    if (free_ == 0 || queue_.empty()) return;
    --free_;
    auto job = std::make_shared<Job>(std::move(queue_.front()));
    queue_.pop_front();
    const double slice = std::min(job->left, kSlice);
    busy_s_ += slice;
    events_.after(slice, [this, job, slice] {
      ++free_;
      job->left -= slice;
      if (job->left > 1e-9) {
        queue_.push_back(std::move(*job));
        start();
      } else {
        start();
        job->done();
      }
    });
  }

  Events& events_;
  std::size_t free_;
  std::deque<Job> queue_;
  double busy_s_ = 0;
};

class Simulation {
 public:
  Simulation(const SimulatedCluster& cluster, const std::vector<RecordedProblem>& recording)
      : cluster_(cluster),
        recording_(recording),
        random_(cluster.seed),
        scheduler_(cluster.rules),
        cores_(events_, cluster.cores),
        broker_(events_, 1),
        link_in_(events_, 1),
        link_out_(events_, 1) {}

  SimulatedRun run() {
    for (std::size_t i = 0; i < cluster_.agents; ++i) {
      join(i < static_cast<std::size_t>(
                   std::lround(cluster_.stragglers * static_cast<double>(cluster_.agents)))
               ? cluster_.straggler_factor
               : 1);
    }
    const std::size_t lanes =
        cluster_.problems_of_a_gpu > 0
            ? std::min(cluster_.problems,
                       cluster_.problems_of_a_gpu * cluster_.agents * cluster_.gpus)
            : problems_at_once(scheduler_.capacity(scheduler_.group(kGroup)), cluster_.problems);
    lanes_.resize(lanes);
    lanes_left_ = lanes;
    events_.after(cluster_.start_s, [this, lanes] {
      for (std::size_t i = 0; i < lanes; ++i) begin_next(i);
    });
    while (lanes_left_ > 0) {
      if (!events_.step()) throw Error("the simulated cluster stands still");
    }
    return result();
  }

 private:
  inline static const GroupKey kGroup{"sm_90", "simulated GPU", 132};

  // A task at an agent.
  struct Held {
    LeaseId lease;
    double seconds;
    std::vector<ContentId> produced;
  };
  // The compilers of an agent, or one of its GPUs.
  struct Station {
    std::size_t width = 1;
    std::set<LeaseId> working;
    std::deque<Held> queue;
  };
  struct Agent {
    double slowness = 1;
    std::vector<Station> stations;  // compilers, GPUs
  };
  struct TaskState {
    double seconds = 0;
    std::optional<ContentId> produces;
    Events::Action done;
    ProblemId problem{};
  };
  struct Problem {
    const RecordedProblem* recorded = nullptr;
    std::size_t first_config = 0;  // of its round through the recording
    ProblemId id{};
    std::size_t asked = 0, begun = 0, done = 0;
    std::size_t number = 0;
    bool is_planned = false, is_asking = false;
    std::size_t specialisations_left = 0;

    // Whose results are waited for.
    std::size_t needed(std::size_t abandoned) const {
      const std::size_t tries = recorded->tries.size();
      return tries > abandoned ? tries - abandoned : tries;
    }
  };
  struct Lane {
    std::unique_ptr<Problem> current;
  };

  // --- Agents ------------------------------------------------------------------------------------

  void join(double slowness) {
    const auto joined =
        scheduler_.join(kGroup, cluster_.compilers, cluster_.gpus, time(events_.now()));
    Agent& agent = agents_[joined.agent];
    agent.slowness = slowness;
    agent.stations.resize(1 + cluster_.gpus);
    agent.stations[0].width = cluster_.compilers;
    if (cluster_.losses_per_hour > 0) {
      const double life =
          std::exponential_distribution<double>(cluster_.losses_per_hour / 3600)(random_);
      events_.after(life, [this, id = joined.agent] { lose(id); });
    }
    obey();
  }

  void lose(AgentId id) {
    const auto agent = agents_.find(id);
    if (agent == agents_.end()) return;
    const double slowness = agent->second.slowness;
    agents_.erase(agent);
    ++lost_agents_;
    events_.after(cluster_.noticed_after_s, [this, id] {
      scheduler_.leave(id, Scheduler::Departure::lost, time(events_.now()));
      obey();
    });
    events_.after(cluster_.back_after_s, [this, slowness] { join(slowness); });
  }

  void receive(AgentId id, std::size_t index, Held held) {
    const auto agent = agents_.find(id);
    if (agent == agents_.end()) return;
    agent->second.stations[index].queue.push_back(std::move(held));
    work(id, index);
  }

  void work(AgentId id, std::size_t index) {
    Agent& agent = agents_.at(id);
    Station& station = agent.stations[index];
    while (station.working.size() < station.width && !station.queue.empty()) {
      station.working.insert(station.queue.front().lease);
      const auto held = std::make_shared<Held>(std::move(station.queue.front()));
      station.queue.pop_front();
      const double seconds = held->seconds * agent.slowness;
      (index == 0 ? compilers_busy_s_ : gpus_busy_s_) += seconds;
      events_.after(seconds, [this, id, index, held] {
        const auto still = agents_.find(id);
        if (still == agents_.end()) return;
        if (still->second.stations[index].working.erase(held->lease) == 0) return;  // killed
        work(id, index);
        const double cubins = static_cast<double>(held->produced.size());
        to_rank_0(cluster_.message_bytes + cubins * cluster_.cubin_bytes,
                  [this, held] { answer(held->lease, held->produced); });
      });
    }
  }

  // Nobody waits for it any more.
  void kill(LeaseId lease) {
    for (auto& [id, agent] : agents_) {
      for (std::size_t index = 0; index < agent.stations.size(); ++index) {
        Station& station = agent.stations[index];
        const std::size_t queued =
            std::erase_if(station.queue, [&](const Held& held) { return held.lease == lease; });
        if (queued + station.working.erase(lease) == 0) continue;
        work(id, index);
        return to_rank_0(cluster_.message_bytes, [this, lease] { answer(lease, {}); });
      }
    }
  }

  // --- Messages ----------------------------------------------------------------------------------

  void to_rank_0(double bytes, Events::Action then) {
    count_message(bytes);
    link_in_.serve(bytes / cluster_.bytes_per_s, [this, then = std::move(then)]() mutable {
      events_.after(cluster_.latency_s, [this, then = std::move(then)]() mutable {
        broker_.serve(cluster_.message_s, std::move(then));
      });
    });
  }

  void from_rank_0(double bytes, Events::Action then) {
    count_message(bytes);
    broker_.serve(cluster_.message_s, [this, bytes, then = std::move(then)]() mutable {
      link_out_.serve(bytes / cluster_.bytes_per_s, [this, then = std::move(then)]() mutable {
        events_.after(cluster_.latency_s, std::move(then));
      });
    });
  }

  void count_message(double bytes) {
    ++messages_;
    bytes_ += bytes;
  }

  // --- The broker --------------------------------------------------------------------------------

  static Scheduler::Time time(double seconds) {
    return Scheduler::Time(static_cast<Scheduler::Time::rep>(seconds * 1e6));
  }

  void submit(ProblemId problem, TaskInfo info, TaskState state) {
    ++submitted_;
    const TaskId id = scheduler_.submit(problem, std::move(info), time(events_.now()));
    state.problem = problem;
    tasks_[id] = std::move(state);
    obey();
  }

  void answer(LeaseId lease, const std::vector<ContentId>& produced) {
    const auto answered = scheduler_.answer(lease, produced, time(events_.now()));
    if (answered) {
      ++ended_;
      take(answered->task);
    }
    obey();
  }

  void take(TaskId id) {
    const auto task = tasks_.extract(id);
    task.mapped().done();
  }

  void obey() {
    scheduler_.advance(time(events_.now()));
    const Scheduler::Orders orders = scheduler_.take_orders();
    for (const Scheduler::Assignment& given : orders.assignments) send(given);
    for (const LeaseId lease : orders.unwanted) {
      from_rank_0(cluster_.message_bytes, [this, lease] { kill(lease); });
    }
    for (const TaskId task : orders.lost) {
      ++lost_;
      take(task);
    }
    // Agents of this simulation are heard of all the time and are never overdue.
    for (const AgentId agent : orders.dismissed) agents_.erase(agent);
    // Heartbeats are left out of the events.
    if (events_.now() > last_heard_ + 10) {
      last_heard_ = events_.now();
      for (const auto& [id, agent] : agents_) scheduler_.heard(id, time(last_heard_));
    }
  }

  void send(const Scheduler::Assignment& given) {
    const auto found = tasks_.find(given.task);
    if (found == tasks_.end()) {  // abandoned since
      return events_.after(0, [this, lease = given.lease] { answer(lease, {}); });
    }
    const TaskState& task = found->second;
    Held held{given.lease, task.seconds, {}};
    if (task.produces) held.produced.push_back(*task.produces);
    const double bytes =
        cluster_.message_bytes + static_cast<double>(given.missing.size()) * cluster_.cubin_bytes;
    const std::size_t index = given.gpu ? 1 + *given.gpu : 0;
    from_rank_0(bytes, [this, agent = given.agent, index, held = std::move(held)]() mutable {
      receive(agent, index, std::move(held));
    });
  }

  // --- Searches ----------------------------------------------------------------------------------

  bool is_searching(const Problem& problem) const {
    return problem.is_planned && problem.done < problem.needed(cluster_.abandoned);
  }

  // Of a problem that is planned or in its finals, others use the share.
  Capacity share() {
    const auto searching = std::count_if(lanes_.begin(), lanes_.end(), [this](const Lane& lane) {
      return lane.current && is_searching(*lane.current);
    });
    return share_of(scheduler_.capacity(scheduler_.group(kGroup)),
                    static_cast<std::size_t>(searching));
  }

  // Enumerates the space of the next problem in the list and begins its search; ends the lane where
  // none is left.
  void begin_next(std::size_t lane) {
    lanes_[lane].current.reset();
    if (problems_begun_ == cluster_.problems) {
      --lanes_left_;
      // The others' shares have grown.
      for (std::size_t i = 0; i < lanes_.size(); ++i) pump(i);
      return;
    }
    const std::size_t number = problems_begun_++;
    last_begun_s_ = events_.now();
    const RecordedProblem& recorded = recording_[number % recording_.size()];
    most_problems_ = std::max(most_problems_, problems_begun_ - problems_done_);
    auto owned = std::make_unique<Problem>();
    Problem* const problem = owned.get();
    problem->recorded = &recorded;
    problem->number = number;
    problem->first_config = number / recording_.size() * kConfigsOfARound;
    problem->id = scheduler_.begin(scheduler_.group(kGroup));
    lanes_[lane].current = std::move(owned);
    for (std::size_t i = 0; i < std::min(cluster_.leaders, recorded.tries.size()); ++i) {
      compile(problem->id, content_of(*problem, i), recorded.tries[i].compile_s,
              [this, lane] { pump(lane); });
    }
    cores_.serve(recorded.plan_s, [this, lane, problem] {
      problem->is_planned = true;
      note(*problem, &Timeline::planned_s);
      problem->asked = std::min(problem->recorded->tries.size(), share().compilers);
      pump(lane);
    });
  }

  void note(const Problem& problem, double Timeline::*step) {
    if (problem.number == 0) first_.*step = events_.now();
  }

  // Keeps the search's share of compilers and GPUs busy, and its strategy one candidate ahead.
  void pump(std::size_t lane) {
    Problem* const problem = lanes_[lane].current.get();
    if (problem == nullptr || !is_searching(*problem)) return;
    const Capacity mine = share();
    const auto pending = [&] {
      return scheduler_.pending(problem->id, TaskKind::compile) +
             scheduler_.pending(problem->id, TaskKind::measure);
    };
    while (problem->begun < problem->asked &&
           pending() < mine.compilers + kCompilingAhead + kMeasuringAhead * mine.gpus) {
      begin(lane, problem->begun++);
    }
    const bool wants = problem->begun == problem->asked && !problem->is_asking &&
                       problem->asked < problem->recorded->tries.size();
    if (!wants) return;
    problem->is_asking = true;
    cores_.serve(cluster_.ask_s, [this, lane, problem] {
      problem->is_asking = false;
      ++problem->asked;
      pump(lane);
    });
  }

  ContentId content_of(const Problem& problem, std::size_t attempt) const {
    return ContentId{problem.first_config + problem.recorded->tries[attempt].config};
  }

  // Calls `then` once the config is compiled; equal ones are compiled once.
  void compile(ProblemId problem, ContentId config, double seconds, Events::Action then) {
    if (compiled_.count(config) > 0) return then();
    std::vector<Events::Action>& waiting = compiling_[config];
    waiting.push_back(std::move(then));
    if (waiting.size() > 1) return;
    submit(problem, {TaskKind::compile, std::chrono::seconds(60), {}},
           {seconds, config, [this, config] {
              compiled_.insert(config);
              const auto entry = compiling_.extract(config);
              for (const Events::Action& one : entry.mapped()) one();
            }});
  }

  void begin(std::size_t lane, std::size_t attempt) {
    Problem* const problem = lanes_[lane].current.get();
    const RecordedProblem::Try& one = problem->recorded->tries[attempt];
    const ContentId config = content_of(*problem, attempt);
    compile(problem->id, config, one.compile_s, [this, lane, problem, one, config] {
      if (one.gpu_s <= 0) return tried(lane);
      submit(problem->id, {TaskKind::measure, std::chrono::seconds(60), {config}},
             {one.gpu_s, std::nullopt, [this, lane] { tried(lane); }});
    });
  }

  void tried(std::size_t lane) {
    Problem& problem = *lanes_[lane].current;
    if (++problem.done == 1) note(problem, &Timeline::first_result_s);
    if (is_searching(problem)) return pump(lane);
    if (problem.done == problem.needed(cluster_.abandoned)) hold_finals(lane);
  }

  void hold_finals(std::size_t lane) {
    Problem& problem = *lanes_[lane].current;
    note(problem, &Timeline::searched_s);
    if (cluster_.abandoned > 0) abandon(problem.id);
    for (std::size_t i = 0; i < std::min(cluster_.specialisations_ahead, cluster_.kernels); ++i) {
      for (std::size_t k = 0; k < problem.recorded->specialisations; ++k) {
        compile(problem.id, specialisation_of(problem, i, k),
                problem.recorded->specialisation_compile_s, [] {});
      }
    }
    std::vector<ContentId> finalists;
    for (std::size_t i = 0; i < std::min<std::size_t>(16, problem.done); ++i) {
      finalists.push_back(content_of(problem, i));
    }
    submit(problem.id, {TaskKind::finals, std::chrono::seconds(120), std::move(finalists)},
           {problem.recorded->finals_s, std::nullopt, [this, lane] {
              note(*lanes_[lane].current, &Timeline::finals_s);
              verify_specialisations(lane);
            }});
  }

  ContentId specialisation_of(const Problem& problem, std::size_t kernel,
                              std::size_t specialisation) const {
    const std::size_t of_a_problem = cluster_.kernels * problem.recorded->specialisations;
    return ContentId{kFirstSpecialisation + problem.number * of_a_problem +
                     kernel * problem.recorded->specialisations + specialisation};
  }

  // Compiles and verifies one specialisation, then those after it where they go in turn.
  void verify_specialisation(std::size_t lane, std::size_t number) {
    Problem* const problem = lanes_[lane].current.get();
    const RecordedProblem& recorded = *problem->recorded;
    const ContentId specialisation = specialisation_of(*problem, number / recorded.specialisations,
                                                       number % recorded.specialisations);
    compile(problem->id, specialisation, recorded.specialisation_compile_s,
            [this, lane, problem, number, specialisation] {
              submit(problem->id, {TaskKind::measure, std::chrono::seconds(60), {specialisation}},
                     {problem->recorded->specialisation_gpu_s, std::nullopt,
                      [this, lane, problem, number] {
                        if (--problem->specialisations_left == 0) return end(lane);
                        if (cluster_.specialisations_in_turn)
                          verify_specialisation(lane, number + 1);
                      }});
            });
  }

  void verify_specialisations(std::size_t lane) {
    Problem& problem = *lanes_[lane].current;
    const std::size_t all = cluster_.kernels * problem.recorded->specialisations;
    problem.specialisations_left = all;
    if (all == 0) return end(lane);
    for (std::size_t i = 0; i < (cluster_.specialisations_in_turn ? 1 : all); ++i)
      verify_specialisation(lane, i);
  }

  // What is still under way when the search is over. Its workers are free at once: they are killed.
  void abandon(ProblemId problem) {
    for (auto entry = tasks_.begin(); entry != tasks_.end();) {
      if (entry->second.problem != problem) {
        ++entry;
        continue;
      }
      if (entry->second.produces) compiling_.erase(*entry->second.produces);
      scheduler_.cancel(entry->first);
      entry = tasks_.erase(entry);
    }
    obey();
  }

  void end(std::size_t lane) {
    note(*lanes_[lane].current, &Timeline::ranked_s);
    scheduler_.end(lanes_[lane].current->id);
    ++problems_done_;
    begin_next(lane);
  }

  SimulatedRun result() const {
    SimulatedRun run;
    run.makespan_s = events_.now();
    run.first = first_;
    run.last_begun_s = last_begun_s_;
    const double agents = static_cast<double>(cluster_.agents);
    const auto share = [&](double busy_s, double servers) {
      return servers > 0 ? busy_s / servers / run.makespan_s : 0;
    };
    run.compilers_busy = share(compilers_busy_s_, agents * static_cast<double>(cluster_.compilers));
    run.gpus_busy = share(gpus_busy_s_, agents * static_cast<double>(cluster_.gpus));
    run.cores_busy = share(cores_.busy_s(), static_cast<double>(cluster_.cores));
    run.broker_busy = share(broker_.busy_s(), 1);
    run.link_busy = std::max(share(link_in_.busy_s(), 1), share(link_out_.busy_s(), 1));
    run.messages = messages_;
    run.bytes = bytes_;
    run.events = events_.count();
    run.lost_agents = lost_agents_;
    run.tasks_submitted = submitted_;
    run.tasks_ended = ended_;
    run.tasks_lost = lost_;
    run.most_problems = most_problems_;
    return run;
  }

  static constexpr std::uint64_t kConfigsOfARound = 1 << 20,
                                 kFirstSpecialisation = std::uint64_t{1} << 60;

  const SimulatedCluster& cluster_;
  const std::vector<RecordedProblem>& recording_;
  std::mt19937_64 random_;
  Events events_;
  Scheduler scheduler_;
  Servers cores_, broker_, link_in_, link_out_;
  std::map<AgentId, Agent> agents_;
  std::unordered_map<TaskId, TaskState> tasks_;
  std::unordered_set<ContentId> compiled_;
  std::unordered_map<ContentId, std::vector<Events::Action>> compiling_;
  std::vector<Lane> lanes_;
  std::size_t lanes_left_ = 0, problems_begun_ = 0, problems_done_ = 0, most_problems_ = 0;
  double last_begun_s_ = 0, last_heard_ = 0;
  double compilers_busy_s_ = 0, gpus_busy_s_ = 0, bytes_ = 0;
  std::uint64_t messages_ = 0, lost_agents_ = 0;
  Timeline first_;
  std::size_t submitted_ = 0, ended_ = 0, lost_ = 0;
};

}  // namespace

std::vector<RecordedProblem> read_recording(std::istream& in) {
  std::vector<RecordedProblem> problems;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    bool is_sound = false;
    if (kind == "problem") {
      RecordedProblem one;
      words >> one.name >> one.plan_s >> one.finals_s >> one.specialisations >>
          one.specialisation_compile_s >> one.specialisation_gpu_s;
      is_sound = words && one.plan_s >= 0 && one.finals_s >= 0 &&
                 one.specialisation_compile_s >= 0 && one.specialisation_gpu_s >= 0;
      problems.push_back(std::move(one));
    } else if (kind == "try" && !problems.empty()) {
      RecordedProblem::Try one;
      words >> one.config >> one.compile_s >> one.gpu_s;
      is_sound = words && one.compile_s >= 0 && one.gpu_s >= 0;
      problems.back().tries.push_back(one);
    }
    std::string rest;
    if (!is_sound || words >> rest) {
      throw UsageError("line " + std::to_string(number) +
                       " of the recording is neither 'problem NAME PLAN_S FINALS_S SPECIALISATIONS "
                       "SPECIALISATION_COMPILE_S SPECIALISATION_GPU_S' nor, below one, 'try CONFIG "
                       "COMPILE_S GPU_S': " +
                       line);
    }
  }
  for (const RecordedProblem& problem : problems) {
    if (problem.tries.empty()) {
      throw UsageError("the recording has no candidate of '" + problem.name + "'");
    }
  }
  if (problems.empty()) throw UsageError("the recording has no problem");
  return problems;
}

SimulatedRun simulate(const SimulatedCluster& cluster,
                      const std::vector<RecordedProblem>& recording) {
  for (const std::size_t count :
       {cluster.agents, cluster.compilers, cluster.gpus, cluster.problems, cluster.cores}) {
    if (count == 0) throw UsageError("agents, compilers, gpus, problems and cores are 1 or more");
  }
  // Infinity: a message that takes no time on the link.
  if (!(cluster.bytes_per_s > 0)) throw UsageError("bytes_per_s is above 0");
  if (!(cluster.stragglers <= 1))
    throw UsageError("stragglers is a share of the agents: 1 at most");
  for (const double time :
       {cluster.ask_s, cluster.message_s, cluster.latency_s, cluster.noticed_after_s,
        cluster.back_after_s, cluster.straggler_factor, cluster.losses_per_hour}) {
    if (!std::isfinite(time)) throw UsageError("times, factors and rates are finite");
  }
  return Simulation(cluster, recording).run();
}

std::string limit_of(const SimulatedCluster& cluster, const SimulatedRun& run) {
  constexpr double kFull = 0.85, kLongEnd = 0.15;
  if (run.cores_busy > kFull) {
    return "rank 0's " + std::to_string(cluster.cores) +
           " cores, which enumerate spaces and choose candidates";
  }
  if (run.broker_busy > kFull) return "rank 0's broker, which handles messages one by one";
  if (run.link_busy > kFull) return "rank 0's link";
  if (run.makespan_s - run.last_begun_s > kLongEnd * run.makespan_s) {
    return "the end, where fewer problems than GPUs are left";
  }
  if (run.gpus_busy > run.compilers_busy) return "the GPUs";
  return "the compilers, of which each agent has " + std::to_string(cluster.compilers);
}

}  // namespace gemm_tune
