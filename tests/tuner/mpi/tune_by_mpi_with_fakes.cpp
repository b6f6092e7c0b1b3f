// SPDX-License-Identifier: Apache-2.0
// gemm-tune-mpi with fake workers, to be killed. usage: mpirun ... tune_by_mpi_with_fakes DB LOG
// CONFIGS PROBLEMS MESSAGES [RANK MESSAGE]. CONFIGS, PROBLEMS: how many. Prints each problem's
// winner. Each rank appends "rank count" to MESSAGES at its end: how many messages it has sent to
// and received from other ranks. RANK kills itself at the so-manieth MESSAGE of its own. The
// environment may name a GT_BROKEN_RANK, whose workers do not start.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.h"
#include "db/validity/validity.h"
#include "tests/tuner/agents/fake_agents.h"
#include "tuner/mpi/mpi_transport.h"

namespace {

using namespace gemm_tune;

// Counts the messages of a rank, and kills it before it sends or takes the last of them.
class CountedTransport : public Transport {
 public:
  CountedTransport(Transport& whole, int last) : whole_(whole), last_(last) {}

  int count() const { return count_; }

  std::vector<int> peers() const override { return whole_.peers(); }
  void send(int peer, std::string message) override {
    count_one();
    whole_.send(peer, std::move(message));
  }
  std::optional<Event> receive() override {
    std::optional<Event> event = whole_.receive();
    if (event) count_one();
    return event;
  }
  int fd() const override { return whole_.fd(); }
  void flush(std::chrono::milliseconds timeout) override { whole_.flush(timeout); }

 private:
  void count_one() {
    if (++count_ == last_) raise(SIGKILL);
  }

  Transport& whole_;
  const int last_;
  int count_ = 0;
};

int run(MpiSession& session, int argc, char** argv) {
  if (argc < 6) return 2;
  const bool is_killed = argc > 7 && std::atoi(argv[6]) == session.rank();
  MpiTransport whole(session);
  CountedTransport transport(whole, is_killed ? std::atoi(argv[7]) : 0);
  // All ranks see the four GPUs of this machine: of five, four have one, and the last compiles.
  AgentFacts facts = fake::facts_of("node");
  facts.target.ordinals = {0, 1, 2, 3};
  facts.target.uuids = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
  TuneRequest request = fake::request_of(
      fake::some_configs(static_cast<std::size_t>(std::atoi(argv[3])), false), argv[2]);
  request.compile_limit = request.measure_limit = std::chrono::minutes(30);
  request.problems = fake::some_problems(std::atoi(argv[4]));
  const char* const broken = std::getenv("GT_BROKEN_RANK");
  if (broken != nullptr && std::atoi(broken) == session.rank()) request.worker = {"/bin/false"};
  const auto note_messages = [&] {
    std::ofstream(argv[5], std::ios::app)
        << std::to_string(session.rank()) + " " + std::to_string(transport.count()) + "\n";
  };
  if (session.rank() != 0) {
    const AgentEnding ending = serve_as_agent(facts, request.worker, transport, 0);
    if (ending.has_lost_leader) return 3;
    if (!ending.in_order) await_end(transport, 0);
    note_messages();
    return 0;
  }
  Database database(argv[1], Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "580.1", "with fakes", 1}, current_revisions());
  with_own_agent([&] { return facts; }, request.worker, &transport, {},
                 [&](Broker& broker) {
                   const auto on_loss = [](const std::string& sentence) {
                     std::fprintf(stderr, "%s\n", sentence.c_str());
                   };
                   const TuneReport report = fake::lead_group(broker, request, database, on_loss);
                   for (const ProblemReport& problem : report.problems) {
                     std::printf("%s %s\n", to_string(problem.problem).c_str(),
                                 to_string(problem.winner.value().config.config()).c_str());
                   }
                 });
  note_messages();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    MpiSession session(argc, argv);
    const int code = run(session, argc, argv);
    session.set_exit_code(code);
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
