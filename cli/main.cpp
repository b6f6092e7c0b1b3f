// SPDX-License-Identifier: Apache-2.0
// Entry point: the list of commands; parses the command line and runs the command.
#include <signal.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "cli/commands.h"
#include "cli/help/help_text.h"
#include "cli/help/version_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/failure.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "gpu/cuda_libraries/cuda_folders.h"
#include "tuner/work/worker.h"

namespace {

using namespace gemm_tune;

constexpr const char* kFooter = R"(Examples:
  gemm-tune speed-up -- python3 train.py       a program made faster, in one go
  gemm-tune --sizes 1024,4096x512x1024         two problems tuned
  gemm-tune best --sizes 1024                  the winner, and how fast it is

Sizes: 1024 (square), 4096x512x1024 (MxNxK), 512:4096:512 (range), @file, and lists of these; a
single one may name its own type, layout or batch: 1024:layout=nt.
Exit codes: 0 done; 1 defect of the program; 2 usage; 3 no usable GPU or CUDA library where one was
demanded, or the system gives no process, thread, memory or file descriptor; 4 no candidate
survived, or the query found nothing; 5 every candidate that ran was wrong or failed; 6 database;
7 standard output or an output file could not be written whole; 130 interrupted (what was finished
is stored).
run, capture and speed-up end with the exit code of the program that they ran.
Database: --db, else GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db. Below this last one
alone best reads gemm-tune/*.db of XDG_DATA_DIRS and the winners that were installed.)";

constexpr NamedCommand kCommands[] = {
    {"tune", "Search, verify, time, store (the default command)", add_tune,
     "  gemm-tune --sizes 1024,4096x512x1024 --time 15:00\n"
     "  gemm-tune --from-capture calls.txt --time 1:00:00\n"
     "  gemm-tune --sizes 4096 --type bf16 --layout tn --batch 8\n"},
    {"speed-up", "Makes a program faster: runs it, tunes it, runs it again", add_speed_up,
     "  gemm-tune speed-up -- python3 train.py\n"
     "  gemm-tune speed-up --time 30:00 -- ./solver input.dat\n"
     "  gemm-tune speed-up --while-running 4711 --gpu-share 10%\n"},
    {"best", "The config for a size, from the database", add_best,
     "  gemm-tune best --sizes 1024,300x200x100\n"},
    {"explain", "One config beside the best other one, figure by figure", add_explain,
     "  gemm-tune explain --sizes 1024\n"},
    {"ladder", "From naive to the tuned winner, rung by rung", add_ladder,
     "  gemm-tune ladder --sizes 1024\n"},
    {"bench", "Winners timed beside every baseline, hot and cold", add_bench,
     "  gemm-tune bench\n"
     "  gemm-tune bench --sizes 1024,4096\n"},
    {"export", "Winners for another build", add_export,
     "  gemm-tune export --format header -o gemm_tuned.h\n"
     "  gemm-tune export --format bundle -o bundle\n"},
    {"report", "A page about a database, to open in a browser", add_report,
     "  gemm-tune report -o report.html\n"},
    {"db", "The database itself: info, check, merge and more", add_db,
     "  gemm-tune db info\n"
     "  gemm-tune db merge all.db mine.db theirs.db\n"},
    {"run", "A program, its cuBLAS calls served by the winners", add_run,
     "  gemm-tune run -- python3 train.py\n"},
    {"capture", "What a program multiplies, for --from-capture", add_capture,
     "  gemm-tune capture -o calls.txt -- python3 train.py\n"},
    {"man", "This program's man page, for man -l", add_man, "  gemm-tune man | man -l -\n"},
    {"completion", "A script that completes commands and options", add_completion,
     "  source <(gemm-tune completion bash)\n"},
};

void add_commands(CLI::App& program, Call& call) {
  program.footer(kFooter);
  add_help_flags(program);
  call.help = printed_help;
  program.set_version_flag("--version", program_version_text,
                           "Print the versions of program, database, kernels, NVRTC and driver");
  program.require_subcommand(0, 1);
  add_tune(program, call);  // where no command is named
  for (const NamedCommand& command : kCommands) add_named(program, command, call);
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
