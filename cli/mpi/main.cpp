// SPDX-License-Identifier: Apache-2.0
// gemm-tune-mpi: gemm-tune's command tune on the GPUs of many machines, one rank of MPI on each.
//
// Rank 0 has the searches and the database. Every rank has an agent, with the worker processes of
// its machine; rank 0's is in a thread beside.
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "cli/arguments/command_line.h"
#include "cli/arguments/database.h"
#include "cli/arguments/target.h"
#include "cli/help/help_text.h"
#include "cli/help/version.h"
#include "cli/help/version_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/failure.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "cli/tune/request.h"
#include "cli/tune/tune_options.h"
#include "cli/tune/tune_output.h"
#include "core/error.h"
#include "core/usable_cpus.h"
#include "db/file/network_file_system.h"
#include "db/file/sole_writer.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/cuda_libraries/cuda_folders.h"
#include "tuner/agents/agent.h"
#include "tuner/agents/leader.h"
#include "tuner/agents/shares.h"
#include "tuner/job/log.h"
#include "tuner/mpi/mpi_transport.h"
#include "tuner/mpi/node_table.h"
#include "tuner/work/own_worker.h"
#include "tuner/work/worker.h"

namespace {

using namespace gemm_tune;

// What the command line of this rank asks for; other ranks may have another one.
struct Asked {
  TuneOptions options;
  Call call;
  std::optional<Answer> answer;
};

Asked parse(int argc, char** argv) {
  Asked asked;
  CLI::App app("Tunes on the GPUs of many machines, by one rank of MPI on each.", "gemm-tune-mpi");
  add_help_flags(app);
  asked.call.help = printed_help;
  app.set_version_flag("--version", program_version_text,
                       "Print the versions of program, database, kernels, NVRTC and driver");
  asked.options.declare(app);
  asked.answer = parse_command_line(app, asked.call, argc, argv);
  return asked;
}

// Called before MPI starts, which takes as long as a driver does; later, find_facts() tells why
// there is none.
std::unique_ptr<GpuProber> early_prober(const Asked& asked) {
  if (asked.answer) return nullptr;
  try {
    for (const std::string& file : asked.options.families) load_family(file);
    return std::make_unique<GpuProber>(asked.options);
  } catch (const std::exception&) {
    return nullptr;
  }
}

// Of the running kernel; containers have that of their machine.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

AgentFacts find_facts(const TuneOptions& options, std::unique_ptr<GpuProber> prober) {
  AgentFacts facts;
  facts.host = host_name();
  facts.boot_id = boot_id();
  facts.tool_version = kVersion;
  try {
    for (const std::string& file : options.families) load_family(file);
    facts.nvrtc_version = nvrtc_version();
    if (!prober) prober = std::make_unique<GpuProber>(options);
    facts.target = node_target(options, *prober);
    if (options.jobs > 0) {
      facts.jobs = static_cast<std::size_t>(options.jobs);
    } else {
      facts.jobs = default_jobs(facts.target);
      facts.cpus = allowed_cpus();
      facts.cpus_of_machine = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    }
  } catch (const UsageError& error) {  // the leader tells of it
    facts.failure = error.what();
    facts.has_bad_options = true;
  } catch (const std::exception& error) {  // of this one, too
    facts.failure = error.what();
  }
  return facts;
}

// Throws DatabaseError where the database lies on another machine.
void require_local(const std::filesystem::path& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  const std::optional<std::string> network =
      std::filesystem::exists(folder) ? network_file_system(folder) : std::nullopt;
  if (!network) return;
  throw DatabaseError("database '" + path.string() + "' is on a network file system (" + *network +
                      "), where a job of many machines may damage it: name a file on a local disk "
                      "of rank 0's machine by --db, and copy it when the job has ended");
}

// A group of agents with GPUs of one model, and what they tune.
struct GroupJob {
  AgentGroup group;
  TuneRequest request;
  Database database;
  DeviceReport report;
};

std::vector<GroupJob> group_jobs(const std::vector<AgentFacts>& facts, const TuneOptions& options,
                                 const WeightedProblems& to_tune,
                                 const Interruption& interruption) {
  std::vector<GroupJob> jobs;
  for (const AgentGroup& group : groups_of(facts)) {
    const Target& target = group.facts.target;
    TuneRequest request = tune_request(options, target, to_tune);
    request.interruption = interruption;
    choose_kernel_cache(options, request);
    jobs.push_back({group, std::move(request), open_for_writing(options), {target, {}}});
  }
  return jobs;
}

std::vector<AgentFacts> facts_of_all(Broker& broker) {
  return broker.gather([](const std::vector<int>& missing) {
    fmt::print(stderr, "gemm-tune: waiting for {} more agent{}, of {}\n", missing.size(),
               missing.size() == 1 ? "" : "s", ranks_text(missing));
  });
}

// The last of the codes that is not kExitOk, if any.
int exit_code_of(std::span<const DeviceReport> reports) {
  int code = kExitOk;
  for (const DeviceReport& one : reports) {
    if (const int its = exit_code(one.report); its != kExitOk) code = its;
  }
  return code;
}

int lead_job(const Asked& asked, const WeightedProblems& to_tune, Broker& broker,
             const Interruption& interruption) {
  const TuneOptions& options = asked.options;
  const std::vector<AgentFacts> facts = facts_of_all(broker);
  if (interruption.requested()) return kExitInterrupted;
  require_one_job(facts);
  if (!options.quiet) {
    for (const std::string& note : few_cpus_notes(facts))
      fmt::print(stderr, "gemm-tune: {}\n", note);
  }
  require_local(database_path(options));
  NodeTable table(options.quiet || options.verbose);
  std::vector<GroupJob> jobs = group_jobs(facts, options, to_tune, interruption);
  Database& database = jobs.front().database;
  const SoleWriter sole(database.path(), host_name());
  const std::size_t all = jobs.size() * to_tune.problems.size();
  std::size_t finished = 0;
  // Results are printed as they come.
  const auto run = [&](GroupJob& job, std::span<TaskPools* const> lanes) {
    const auto on_finished = [&](const ProblemReport& problem) {
      broker.call_soon([&, problem] {
        ++finished;
        if (options.json) return;
        table.clear();
        print_problem(problem, job.report.target, options);
      });
    };
    begin_run(job.database, job.request, job.report.target, asked.call.command_line);
    job.report.report = tune(
        job.request, job.database, lanes, [](const Progress&) {}, on_finished);
  };
  std::vector<GroupWork> works;
  for (GroupJob& job : jobs) {
    works.push_back({job.group.key, to_tune.problems.size(),
                     [&](std::span<TaskPools* const> lanes) { run(job, lanes); }});
  }
  lead(
      broker, works,
      [&](const std::vector<NodeStatus>& nodes) { table.show(nodes, finished, all); },
      [&](const NodeStatus& lost) {
        table.clear();
        tell_failure(loss_sentence(lost), kExitOk);
      });
  table.clear();
  std::vector<DeviceReport> reports;
  for (GroupJob& job : jobs) {
    job.database.confirm_stored();
    reports.push_back(std::move(job.report));
  }
  print_end(reports, options, asked.call, database);
  return exit_code_of(reports);
}

WeightedProblems problems_of(const TuneOptions& options) {
  if (options.dry_run) throw UsageError("--dry-run is for gemm-tune, which needs one machine only");
  return problems_to_tune(options);
}

// Before there is a broker, which would tell the agents that the job is over.
void end_early(MpiTransport& transport) {
  for (const int peer : transport.peers()) transport.send(peer, message_of(kEnd, nullptr));
  transport.flush(std::chrono::seconds(5));
}

int run_rank_0(const Asked& asked, std::unique_ptr<GpuProber> prober, MpiTransport& transport) {
  WeightedProblems problems;
  try {
    problems = problems_of(asked.options);
  } catch (...) {
    end_early(transport);
    throw;
  }
  const Interruption interruption = watch_for_signals();
  int code = kExitOk;
  with_own_agent([&] { return find_facts(asked.options, std::move(prober)); }, own_worker(),
                 &transport, interruption,
                 [&](Broker& broker) { code = lead_job(asked, problems, broker, interruption); });
  close_standard_output();
  return code;
}

int run_other_rank(const AgentFacts& facts, MpiTransport& transport) {
  const AgentEnding ending = serve_as_agent(facts, own_worker(), transport, 0);
  if (ending.in_order) return kExitOk;
  if (ending.has_lost_leader) {
    return tell_failure("the agent on " + host_name() + " ends: " + ending.why, kExitNoDevice);
  }
  // Rank 0 tells of it. MPI ends a job with the first rank that leaves, whose exit code is for rank
  // 0 to decide.
  await_end(transport, 0);
  return kExitOk;
}

int run_rank(MpiSession& session, const Asked& asked, std::unique_ptr<GpuProber> prober) {
  MpiTransport transport(session);
  const std::optional<Answer>& answer = asked.answer;
  if (answer && session.rank() == 0) {
    end_early(transport);
    if (answer->exit_code != kExitOk) return tell_failure(answer->text, answer->exit_code);
    fmt::print("{}", answer->text);
    return kExitOk;
  }
  if (session.rank() != 0) watch_for_signals();  // rank 0 decides what they mean
  if (answer) {                                  // rank 0 may have other options
    AgentFacts facts;
    facts.host = host_name();
    facts.failure = answer->exit_code == kExitOk
                        ? "the options ask for a text, as --help does, and not for a job"
                        : answer->text;
    facts.has_bad_options = true;
    return run_other_rank(facts, transport);
  }
  log_to_standard_error(asked.options.verbose);
  return with_failures_told([&] {
    if (session.rank() == 0) return run_rank_0(asked, std::move(prober), transport);
    return run_other_rank(find_facts(asked.options, std::move(prober)), transport);
  });
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  look_for_cuda_in_environment();
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    return with_failures_told([&] { return run_worker({argv + 2, argv + argc}); });
  }
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails without a signal
  return with_failures_told([&] {
    const Asked asked = parse(argc, argv);
    std::unique_ptr<GpuProber> prober = early_prober(asked);
    MpiSession session(argc, argv);
    const int code = run_rank(session, asked, std::move(prober));
    session.set_exit_code(code);
    return code;
  });
}
