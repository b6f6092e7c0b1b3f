// SPDX-License-Identifier: Apache-2.0
// Entry point: the list of commands; parses the command line and runs the command.
#include <signal.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <cstring>

#include "cli/commands.h"
#include "cli/help/version_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/failure.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "gpu/cuda_libraries/cuda_folders.h"
#include "tuner/work/worker.h"

namespace {

using namespace gemm_tune;

constexpr const char* kFooter = R"(
Sizes: 1024 (square), 4096x512x1024 (MxNxK), 512:4096:512 (range), @file, and lists of these; a
single one may name its own type, layout or batch: 1024:layout=nt.
Exit codes: 0 done; 1 defect of the program; 2 usage; 3 no usable GPU or CUDA library where one was
demanded, or the system gives no process, thread, memory or file descriptor; 4 no candidate
survived, or the query found nothing; 5 every candidate that ran was wrong or failed; 6 database;
7 standard output or an output file took not all; 130 interrupted (what was finished is stored).
Database: --db, else GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db, below which best
reads gemm-tune/*.db of XDG_DATA_DIRS and the winners that were installed.)";

constexpr NamedCommand kCommands[] = {
    {"tune", "Search, verify, time, store (the default command)", add_tune},
    {"best", "The config for a size, from the database", add_best},
    {"explain", "One config beside the best other one, each figure with its origin", add_explain},
    {"ladder", "The rungs from naive to the tuned winner, each tried and shown", add_ladder},
    {"bench", "The database's winners timed beside every baseline, hot and cold", add_bench},
    {"export", "Winners for another build", add_export},
    {"report", "A page about a database, to open in a browser: times, speed-ups, rejections",
     add_report},
    {"db", "The database itself: info, check, merge, diff, import, contribute, prune", add_db},
    {"run", "A program, its cuBLAS calls served by the winners: run [OPTIONS] -- PROGRAM ...",
     add_run},
    {"capture", "The problems that a program multiplies: capture -o FILE -- PROGRAM ...",
     add_capture},
    {"man", "This program's man page, for man -l", add_man},
    {"completion", "A script for a shell, to complete commands and options", add_completion},
};

void add_commands(CLI::App& program, Call& call) {
  program.footer(kFooter);
  program.set_version_flag("--version", program_version_text,
                           "Print the versions of program, database, kernels, NVRTC and driver");
  program.require_subcommand(0, 1);
  add_tune(program, call);  // where no command is named
  for (const auto& [name, what, add] : kCommands) add(*program.add_subcommand(name, what), call);
}

int run(const Call& call, const std::optional<Answer>& answer) {
  int code = kExitOk;
  if (answer) {                      // --help, --version
    fmt::print("{}", answer->text);  // throws what the stream would forget: why it failed
  } else {
    code = call.run();
  }
  close_standard_output();
  return has_been_interrupted() ? kExitInterrupted : code;
}

int run_command(int argc, char** argv) {
  CLI::App program("Finds the fastest GEMM kernel for a GPU and matrix sizes, verified and timed.",
                   "gemm-tune");
  Call call;
  add_commands(program, call);
  const std::optional<Answer> answer = parse_command_line(program, call, argc, argv);
  if (answer && answer->exit_code != kExitOk) return tell_failure(answer->text, answer->exit_code);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails without a signal
  return run(call, answer);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  look_for_cuda_in_environment();
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    try {
      return run_worker({argv + 2, argv + argc});
    } catch (const std::exception& error) {
      return tell_failure(error.what(), kExitUsage);
    }
  }
  return with_failures_told([&] { return run_command(argc, argv); });
}
