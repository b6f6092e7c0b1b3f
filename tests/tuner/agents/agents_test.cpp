// SPDX-License-Identifier: Apache-2.0
// Jobs of many agents in one process, with fake workers: what a job of many machines does, without
// the machines. tests/tuner/mpi_test.sh has the same over MPI.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/tuner/agents/fake_agents.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

// Agents in threads of this process.
class FakeNodes {
 public:
  explicit FakeNodes(const TuneRequest& request) : request_(request) {}
  ~FakeNodes() { end(); }  // also where a test ends by an exception, and nobody else tells them
  FakeNodes(const FakeNodes&) = delete;
  FakeNodes& operator=(const FakeNodes&) = delete;

  void add(const AgentFacts& facts) {
    auto [here, there] = in_process_line();
    lines_.push_back(std::move(here));
    const SignalsBlocked blocked;
    threads_.emplace_back([this, facts, line = std::move(there)] {
      serve_as_agent(facts, request_.worker, *line, 0, request_.worker_clock);
    });
  }

  // What an agent would hear over a line that is not cut.
  void end() {
    for (const auto& line : lines_) line->send(0, message_of(kEnd, nullptr));
  }

  std::vector<Transport*> lines() const {
    std::vector<Transport*> all;
    for (const auto& line : lines_) all.push_back(line.get());
    return all;
  }

 private:
  const TuneRequest& request_;
  std::vector<std::unique_ptr<Transport>> lines_;
  std::vector<std::jthread> threads_;
};

// A line that is cut after so many messages of the agent.
class CutLine : public Transport {
 public:
  CutLine(Transport& whole, int messages) : whole_(whole), left_(messages) {}

  std::vector<int> peers() const override { return whole_.peers(); }
  void send(int peer, std::string message) override {
    if (left_ > 0) whole_.send(peer, std::move(message));
  }
  std::optional<Event> receive() override {
    if (left_ < 0) return std::nullopt;
    std::optional<Event> event = whole_.receive();
    if (event && left_-- == 0) event->message.reset();
    return event;
  }
  int fd() const override { return whole_.fd(); }
  void flush(std::chrono::milliseconds) override {}

 private:
  Transport& whole_;
  int left_;
};

// A line that is cut behind the first answer of finals.
class LineCutAfterFinals : public Transport {
 public:
  explicit LineCutAfterFinals(Transport& whole) : whole_(whole) {}

  bool is_cut() const { return is_cut_; }

  std::vector<int> peers() const override { return whole_.peers(); }
  void send(int peer, std::string message) override {
    if (!is_cut_) whole_.send(peer, std::move(message));
  }
  std::optional<Event> receive() override {
    if (is_cut_) return std::exchange(loss_, std::nullopt);
    std::optional<Event> event = whole_.receive();
    if (event && event->message->find("finalists") != std::string::npos) {
      is_cut_ = true;
      loss_ = Event{event->peer, std::nullopt};
    }
    return event;
  }
  int fd() const override { return whole_.fd(); }
  void flush(std::chrono::milliseconds) override {}

 private:
  Transport& whole_;
  bool is_cut_ = false;
  std::optional<Event> loss_;
};

class AgentsTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  TuneRequest request(const std::string& log, bool with_faulty = true) const {
    TuneRequest request = fake::request_of(fake::some_configs(24, with_faulty), file(log));
    request.compile_limit = request.measure_limit = 30min;  // after which an agent is lost
    request.problems = fake::some_problems(3);
    return request;
  }

  static std::set<std::string> rows(const Database& database) {
    std::set<std::string> found;
    database.for_each_record([&](const Record& row) {
      found.insert(to_string(row.problem) + " " + row.config + " " +
                   std::string(to_string(row.outcome.disposition)) + " " +
                   (row.outcome.ranking ? std::to_string(row.outcome.ranking->rank) : "-"));
    });
    return found;
  }

  // How often each "PROBLEM config" was stored as a result of the search.
  static std::map<std::string, int> search_rows(const Database& database) {
    std::map<std::string, int> count;
    database.for_each_stored([&](const Record& row, bool) {
      if (!row.outcome.ranking) {
        ++count[to_string(row.problem) + " " + row.config];
      }
    });
    return count;
  }

  static std::vector<std::string> winners(const TuneReport& report) {
    std::vector<std::string> all;
    for (const ProblemReport& problem : report.problems) {
      all.push_back(to_string(problem.problem) + " " +
                    to_string(problem.winner.value().config.config()));
    }
    return all;
  }

  Database made(const std::string& name) const {
    Database database(file(name), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", name, 1});
    return database;
  }

  ScratchDir dir_{"gemm-tune-test"};
};

TEST_F(AgentsTest, ThreeAgentsStoreTheRowsAndWinnersOfOneProcess) {
  const TuneRequest alone = request("alone.log"), shared = request("shared.log");
  Database one = made("one.db"), many = made("many.db");
  const TuneReport expected = tune(alone, one, [](const Progress&) {});
  TuneReport report;
  FakeNodes nodes(shared);
  for (const char* const host : {"a", "b", "c"}) nodes.add(fake::facts_of(host));
  Broker broker(nodes.lines(), {});
  report = fake::lead_group(broker, shared, many);
  broker.end();
  EXPECT_EQ(winners(report), winners(expected));
  EXPECT_EQ(rows(many), rows(one));
  for (const auto& [row, count] : search_rows(many)) EXPECT_EQ(count, 1) << row;
}

TEST_F(AgentsTest, TheLossOfAnAgentCostsNoRowAndNoWinnerAndNothingIsStoredTwice) {
  const TuneRequest alone = request("alone.log", false), shared = request("shared.log", false);
  Database one = made("one.db");
  const TuneReport expected = tune(alone, one, [](const Progress&) {});
  for (const int messages : {1, 4, 17}) {
    Database many = made("many" + std::to_string(messages) + ".db");
    FakeNodes nodes(shared);
    for (const char* const host : {"a", "b", "c"}) nodes.add(fake::facts_of(host));
    std::vector<Transport*> lines = nodes.lines();
    CutLine cut(*lines[1], messages);
    lines[1] = &cut;
    Broker broker(lines, {});
    EXPECT_EQ(winners(fake::lead_group(broker, shared, many)), winners(expected));
    EXPECT_EQ(rows(many), rows(one));
    for (const auto& [row, count] : search_rows(many)) EXPECT_EQ(count, 1) << row;
    broker.end();
    nodes.end();
  }
}

TEST_F(AgentsTest, ProblemsThatDifferInTheirEpilogueAloneAreMeasuredWithTheirOwnKernels) {
  TuneRequest alone = request("alone.log", false);
  alone.problems.resize(1);
  alone.problems.push_back(alone.problems[0]);
  alone.problems[1].epilogue = parse_epilogue("relu");
  TuneRequest shared = alone;
  shared.worker[1] = file("shared.log");
  Database one = made("one.db"), many = made("many.db");
  const TuneReport expected = tune(alone, one, [](const Progress&) {});
  FakeNodes nodes(shared);
  nodes.add(fake::facts_of("node"));
  Broker broker(nodes.lines(), {});
  const TuneReport report = fake::lead_group(broker, shared, many);
  broker.end();
  EXPECT_EQ(winners(report), winners(expected));
  EXPECT_EQ(rows(many), rows(one));
}

void expect_that_node7_was_the_last(Broker& broker, const TuneRequest& request,
                                    Database& database) {
  try {
    fake::lead_group(broker, request, database);
    ADD_FAILURE() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no agent of the job is left for NVIDIA H100"));
    EXPECT_THAT(error.what(), HasSubstr("node7: the agent is lost"));
  }
}

TEST_F(AgentsTest, WithoutAnAgentLeftTheSearchesEndAndSayWhichWasTheLast) {
  const TuneRequest sound = request("log", false);
  Database database = made("db");
  FakeNodes nodes(sound);
  nodes.add(fake::facts_of("node7"));
  CutLine cut(*nodes.lines()[0], 5);
  Broker broker({&cut}, {});
  expect_that_node7_was_the_last(broker, sound, database);
  nodes.end();
}

TEST_F(AgentsTest, AnAgentWhoseWorkersCannotStartIsDismissedAndTheOthersDoItsTasks) {
  const TuneRequest sound = request("log", false);
  TuneRequest broken = sound;
  broken.worker = {"/nowhere/worker"};
  Database database = made("db");
  FakeNodes good(sound), bad(broken);
  good.add(fake::facts_of("good"));
  bad.add(fake::facts_of("bad"));
  Broker broker({good.lines()[0], bad.lines()[0]}, {});
  EXPECT_EQ(fake::lead_group(broker, sound, database).problems.size(), 3u);
  broker.end();
}

TEST_F(AgentsTest, TheLossOfTheLeadersOwnAgentIsToldOnceWithItsReason) {
  const TuneRequest sound = request("log", false);
  const WorkerCommand broken = {"/bin/false"};
  Database database = made("db");
  FakeNodes good(sound);
  good.add(fake::facts_of("good"));
  std::vector<std::string> losses;
  const auto facts = [] { return fake::facts_of("own"); };
  with_own_agent(facts, broken, good.lines()[0], {}, [&](Broker& broker) {
    const auto on_loss = [&](const std::string& sentence) { losses.push_back(sentence); };
    EXPECT_EQ(fake::lead_group(broker, sound, database, on_loss).problems.size(), 3u);
  });
  EXPECT_THAT(losses, testing::ElementsAre(HasSubstr("the agent of rank 0 on own serves no more: a "
                                                     "worker process cannot start")));
}

TEST_F(AgentsTest, AnAgentThatIsLostBeforeItsHelloIsToldOfAndTheOthersWork) {
  const TuneRequest sound = request("log", false);
  Database database = made("db");
  FakeNodes good(sound), silent(sound);
  good.add(fake::facts_of("good"));
  silent.add(fake::facts_of("silent"));
  CutLine cut(*silent.lines()[0], 0);
  Broker broker({good.lines()[0], &cut}, {});
  std::vector<std::string> losses;
  const auto on_loss = [&](const std::string& sentence) { losses.push_back(sentence); };
  EXPECT_EQ(fake::lead_group(broker, sound, database, on_loss).problems.size(), 3u);
  EXPECT_THAT(losses,
              testing::ElementsAre("the agent of rank 0 serves no more: the agent is lost"));
  broker.end();
  silent.end();
}

// The ranks of others, of which some never say hello.
class SilentRanks : public Transport {
 public:
  std::vector<int> peers() const override { return {1, 2, 3, 4}; }
  void send(int, std::string) override {}
  std::optional<Event> receive() override {
    if (has_greeted_) return std::nullopt;
    has_greeted_ = true;
    return Event{3, message_of(kHello, fake::facts_of("node3"))};
  }
  int fd() const override { return -1; }
  void flush(std::chrono::milliseconds) override {}

 private:
  bool has_greeted_ = false;
};

TEST(MissingAgentsTest, WhoWaitsForAgentsHearsWhichRanksAreMissing) {
  SilentRanks ranks;
  std::atomic<bool> is_enough = false;
  Broker broker({&ranks}, Interruption().also(is_enough));
  std::vector<int> heard;
  broker.gather(
      [&](const std::vector<int>& missing) {
        heard = missing;
        is_enough = true;
      },
      20ms);
  EXPECT_THAT(heard, testing::ElementsAre(1, 2, 4));
}

TEST(MissingAgentsTest, AJobGoesOnWithoutTheRanksThatSayNothingInTime) {
  SilentRanks ranks;
  std::atomic<bool> is_late = false;  // ends the waiting of a broker without a limit
  Broker broker({&ranks}, Interruption().also(is_late));
  int notes = 0;
  const std::vector<AgentFacts> facts =
      broker.gather([&](const std::vector<int>&) { is_late = ++notes > 1000; }, 20ms, 100ms);
  EXPECT_FALSE(is_late);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].peer, 3);
  std::vector<std::string> heard;
  broker.serve([] { return true; }, [](const auto&) {},
               [&](const NodeStatus& lost) { heard.push_back(loss_sentence(lost)); });
  const auto sentence = [](const std::string& rank) {
    return "the agent of rank " + rank +
           " serves no more: it did not tell what its node has within 1 s";
  };
  EXPECT_THAT(heard, testing::ElementsAre(sentence("1"), sentence("2"), sentence("4")));
}

TEST(MissingAgentsTest, RanksAreNamedInAShortList) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({1, 4}), "ranks 1 and 4");
  EXPECT_EQ(ranks_text({0, 1, 2, 5, 7, 8}), "ranks 0-2, 5 and 7-8");
}

// On the first GPU all finals take twice as long, so that they are repeated with other finalists,
// and it is lost by then.
TEST_F(AgentsTest, FinalsWhoseGpuIsLostBeginAnewAndStoreTimesOfOneGpu) {
  TuneRequest sound = request("sound.log", false), half = request("half.log", false);
  sound.problems.resize(1);
  half.worker.back() = "half_speed";
  Database one = made("one.db"), many = made("many.db");
  const TuneReport expected = tune(sound, one, [](const Progress&) {});
  FakeNodes slow(half), fast(sound);
  slow.add(fake::facts_of("slow"));
  fast.add(fake::facts_of("fast"));
  LineCutAfterFinals line(*slow.lines()[0]);
  Broker broker({&line, fast.lines()[0]}, {});
  const TuneReport report = fake::lead_group(broker, sound, many);
  broker.end();
  slow.end();
  EXPECT_TRUE(line.is_cut()) << "the first finals ran elsewhere";
  EXPECT_EQ(winners(report), winners(expected));
  EXPECT_EQ(rows(many), rows(one));
  many.for_each_record([](const Record& row) {
    EXPECT_EQ(row.outcome.timing.value().median_us, fake::time_us_of(row.config)) << row.config;
  });
  EXPECT_EQ(report.problems.at(0).winner.value().baselines.at(0).timing.median_us, 120);
}

TEST_F(AgentsTest, OfTwoAgentsThatSeeOneGpuTheFirstMeasuresAndTheOtherCompiles) {
  const TuneRequest first = request("first.log", false), second = request("second.log", false);
  Database database = made("db");
  FakeNodes measuring(first), compiling(second);
  AgentFacts facts = fake::facts_of("node");
  facts.target.uuids = {"GPU-0"};
  measuring.add(facts);
  compiling.add(facts);
  Broker broker({measuring.lines()[0], compiling.lines()[0]}, {});
  std::vector<NodeStatus> statuses;
  const auto on_status = [&](const std::vector<NodeStatus>& nodes) { statuses = nodes; };
  EXPECT_EQ(fake::lead_group(broker, first, database, nullptr, on_status).problems.size(), 3u);
  broker.end();
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_GT(statuses[0].measured, 3 * 10u);
  EXPECT_EQ(statuses[1].measured, 0u);
  EXPECT_GT(statuses[1].compiled, 0u);
  const auto tasks = [&](const char* log, const std::string& verb) {
    std::ifstream file(this->file(log));
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) count += line.starts_with(verb + " ");
    return count;
  };
  EXPECT_GT(tasks("first.log", "measure"), 3 * 10u);
  EXPECT_EQ(tasks("second.log", "measure"), 0u);
  EXPECT_GT(tasks("second.log", "compile"), 0u);
}

TEST_F(AgentsTest, WhereTheLastGpuIsLostTheSearchesEndThoughAnAgentThatCompilesIsLeft) {
  const TuneRequest sound = request("log", false);
  Database database = made("db");
  FakeNodes measuring(sound), compiling(sound);
  AgentFacts facts = fake::facts_of("node7");
  facts.target.uuids = {"GPU-0"};
  measuring.add(facts);
  facts.host = "node8";
  compiling.add(facts);
  CutLine cut(*measuring.lines()[0], 5);
  Broker broker({&cut, compiling.lines()[0]}, {});
  expect_that_node7_was_the_last(broker, sound, database);
  broker.end();
  measuring.end();
}

// The broker's first, of a group of one lane.
std::shared_ptr<TaskPools> only_lane(Broker& broker) {
  const std::vector<AgentFacts> facts = broker.gather([](const std::vector<int>&) {});
  return broker.lanes(group_of(facts.at(0)), 1).at(0);
}

// A lane abandons a measurement that a GPU is free for before it has said what is to be measured.
TEST_F(AgentsTest, ATaskThatIsAbandonedBeforeItsRequestIsKnownKeepsNoGpu) {
  const TuneRequest sound = request("log", false);
  FakeNodes nodes(sound);
  nodes.add(fake::facts_of("node"));
  Broker broker(nodes.lines(), {});
  const std::shared_ptr<TaskPools> lane = only_lane(broker);
  std::atomic<bool> is_assigned = false, is_over = false;
  std::jthread search([&] {
    const Task proposals = {"propose", ProposalsRequest{fake::kProblem}, 1min, false,
                            [](const TaskResult&) {}};
    Task late = proposals;
    late.update = [](nlohmann::json&) { ADD_FAILURE() << "abandoned"; };
    for (int i = 0; i < 2; ++i) lane->measurers().submit(late);  // one of them waits at the GPU
    while (!is_assigned) std::this_thread::yield();
    lane->measurers().abandon();
    Task next = proposals;
    next.done = [&](const TaskResult& result) {
      EXPECT_EQ(result.status, TaskResult::Status::reply);
      is_over = true;
    };
    lane->measurers().submit(next);
    while (!is_over) lane->wait(1s, -1);
    broker.wake();
  });
  const auto on_status = [&](const std::vector<NodeStatus>& all) {
    is_assigned = is_assigned || all.at(0).gpus_busy > 0;
  };
  broker.serve([&] { return is_over.load(); }, on_status, [](const NodeStatus&) {});
  broker.end();
}

TEST_F(AgentsTest, OneTaskOfALaneIsAbandonedAndTheOthersGoOn) {
  const TuneRequest sound = request("log", false);
  FakeNodes nodes(sound);
  nodes.add(fake::facts_of("node"));
  Broker broker(nodes.lines(), {});
  const std::shared_ptr<TaskPools> lane = only_lane(broker);
  std::atomic<bool> is_over = false;
  std::jthread search([&] {
    const auto configs = fake::some_configs(8, false);
    ASSERT_GE(configs.size(), 3u);
    std::vector<std::uint64_t> done;
    for (std::uint64_t number = 1; number <= 3; ++number) {
      const CompileRequest what{to_string(configs[number].config()), "sm_90"};
      lane->compilers().submit({"compile", what, 1min, false,
                                [&done, number](const TaskResult&) { done.push_back(number); },
                                nullptr, number});
    }
    lane->compilers().abandon(2);
    EXPECT_EQ(lane->compilers().pending(), 2u);
    while (lane->compilers().pending() > 0) lane->wait(1s, -1);
    std::sort(done.begin(), done.end());
    EXPECT_EQ(done, (std::vector<std::uint64_t>{1, 3}));
    is_over = true;
    broker.wake();
  });
  broker.serve([&] { return is_over.load(); }, [](const auto&) {}, [](const NodeStatus&) {});
  broker.end();
}

TEST_F(AgentsTest, ACompilationThatNobodyWaitsForFreesItsWorker) {
  TuneRequest hanging = request("log");
  hanging.only = fake::some_configs(400, /*with_faulty=*/true);
  std::erase_if(hanging.only, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) != fake::Fault::endless_compile;
  });
  ASSERT_FALSE(hanging.only.empty());
  // A second passes for a worker that hangs whenever its clock is read: far from the task's limit.
  std::atomic<int> seconds = 0;
  hanging.worker_clock = [&](pid_t worker) {
    const bool hangs = std::filesystem::exists(fake::mark_of_hang(file("log"), worker));
    return RunningClock::time_point(hangs ? ++seconds * 1s : 0s);
  };
  FakeNodes nodes(hanging);
  AgentFacts facts = fake::facts_of("node");
  facts.jobs = 1;
  nodes.add(facts);
  Broker broker(nodes.lines(), {});
  const std::shared_ptr<TaskPools> lane = only_lane(broker);
  std::atomic<bool> is_over = false;
  std::jthread search([&] {
    const auto compile = [&](const std::string& config, const std::function<void()>& then) {
      const CompileRequest what{config, "sm_90"};
      lane->compilers().submit(
          {"compile", what, 100h, false, [then](const TaskResult&) { then(); }});
    };
    compile(to_string(hanging.only[0].config()), [] { ADD_FAILURE() << "abandoned"; });
    while (seconds == 0) std::this_thread::yield();
    lane->compilers().abandon();
    compile(to_string(fake::some_configs(4, false)[0].config()), [&] { is_over = true; });
    while (!is_over) lane->wait(1s, -1);
    broker.wake();
  });
  broker.serve([&] { return is_over.load(); }, [](const auto&) {}, [](const NodeStatus&) {});
  broker.end();
}

std::string why_refused(const std::vector<AgentFacts>& agents) {
  try {
    require_one_job(agents);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(RefusedAgentsTest, EachFailureIsSaidOnceWithItsRanksAndBadOptionsAreTheUsers) {
  std::vector<AgentFacts> agents(5, fake::facts_of("node"));
  for (std::size_t i = 0; i < agents.size(); ++i) agents[i].peer = static_cast<int>(i);
  agents[1].failure = agents[2].failure = agents[4].failure = "no GPU";
  EXPECT_THAT(why_refused(agents), HasSubstr("ranks 1-2 and 4 cannot serve: no GPU"));
  agents[3].failure = "--jbos is unknown";
  agents[3].has_bad_options = true;
  try {
    require_one_job(agents);
    ADD_FAILURE() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ranks 1-2 and 4 cannot serve: no GPU"),
                                    HasSubstr("rank 3 on node cannot serve: --jbos is unknown")));
  }
}

TEST(RefusedAgentsTest, DriversNvrtcsBuildsAndFailuresThatDifferAreRefusedByName) {
  const AgentFacts first = fake::facts_of("node1");
  const auto why = [&](const auto& change) {
    AgentFacts other = fake::facts_of("node2");
    change(other);
    other.peer = 1;
    return why_refused({first, other});
  };
  EXPECT_EQ(why([](AgentFacts&) {}), "");
  EXPECT_THAT(why([](AgentFacts& facts) { facts.target.driver_version = "590.2"; }),
              AllOf(HasSubstr("drivers"), HasSubstr("580.1 on node1, 590.2 on node2")));
  EXPECT_THAT(
      why([](AgentFacts& facts) { facts.nvrtc_version = "13.1"; }),
      AllOf(HasSubstr("NVRTC"), HasSubstr("13.0 on node1, 13.1 on node2"), HasSubstr("CUDA_HOME")));
  EXPECT_THAT(why([](AgentFacts& facts) { facts.tool_version = "2"; }),
              HasSubstr("start one build on all nodes"));
  EXPECT_THAT(why([](AgentFacts& facts) { facts.failure = "no GPU"; }),
              AllOf(HasSubstr("rank 1 on node2"), HasSubstr("no GPU")));
  EXPECT_THAT(why([](AgentFacts& facts) {
                facts.target.measurable = false;
                facts.target.why_not = "no GPU";
              }),
              HasSubstr("rank 1 on node2 cannot measure (no GPU)"));
  // Of another GPU: a group of its own, with a driver of its own.
  EXPECT_EQ(why([](AgentFacts& facts) {
              facts.target.spec.name = "NVIDIA GH200";
              facts.target.driver_version = "590.2";
            }),
            "");
  EXPECT_THAT(why_refused({}), HasSubstr("no agent"));
}

}  // namespace
}  // namespace gemm_tune
