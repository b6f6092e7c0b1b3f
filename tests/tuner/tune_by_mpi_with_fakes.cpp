// SPDX-License-Identifier: Apache-2.0
// gemm-tune-mpi with fake workers, to be killed. usage: mpirun ... tune_by_mpi_with_fakes DB LOG
// CONFIGS PROBLEMS [PIDS]. CONFIGS, PROBLEMS: how many. Prints each problem's winner. Appends "rank
// pid" of each rank to PIDS. The environment may name a GT_BROKEN_RANK, whose workers do not start.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.h"
#include "tests/tuner/fake_agents.h"
#include "tuner/mpi/mpi_transport.h"

namespace {

using namespace gemm_tune;

int run(MpiSession& session, int argc, char** argv) {
  if (argc < 5) return 2;
  MpiTransport transport(session);
  if (argc > 5) {
    std::ofstream(argv[5], std::ios::app)
        << std::to_string(session.rank()) + " " + std::to_string(getpid()) + "\n";
  }
  // All ranks see the four GPUs of this machine: of five, four have one, and the last compiles.
  AgentFacts facts = fake::facts_of("node");
  facts.target.ordinals = {0, 1, 2, 3};
  facts.target.uuids = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
  TuneRequest request =
      fake::request_of(fake::some_configs(static_cast<std::size_t>(std::atoi(argv[3])), false),
                       argv[2], std::chrono::seconds(20));
  request.problems = fake::some_problems(std::atoi(argv[4]));
  const char* const broken = std::getenv("GT_BROKEN_RANK");
  if (broken != nullptr && std::atoi(broken) == session.rank()) request.worker = {"/bin/false"};
  if (session.rank() != 0) {
    const AgentEnding ending = serve_as_agent(facts, request.worker, transport, 0);
    if (ending.has_lost_leader) return 3;
    if (!ending.in_order) await_end(transport, 0);
    return 0;
  }
  Database database(argv[1], Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "580.1", "with fakes", 1});
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
