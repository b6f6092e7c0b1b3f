// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/while_running.h"

#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/arguments/database.h"
#include "cli/arguments/values/sizes.h"
#include "cli/capture/running_program.h"
#include "cli/capture/wanted_problems.h"
#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/speed_up/speed_up_text.h"
#include "cli/speed_up/turns.h"
#include "cli/tune/request.h"
#include "cli/tune/tuning.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/process/running_clock.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

// Of the tuning: the program's database.
TuneOptions tuning_for(const SpeedUpOptions& options, const RunningProgram& program) {
  const std::filesystem::path theirs = program.database();
  std::error_code missing;
  const bool is_other = !options.db.empty() && std::filesystem::absolute(options.db) != theirs &&
                        !std::filesystem::equivalent(options.db, theirs, missing);
  if (is_other) {
    throw UsageError("the program is served by the winners of '" + printable(theirs.string()) +
                     "', and would not see those of '" + printable(options.db) +
                     "': leave --db out");
  }
  TuneOptions tuning = tuning_options(options);
  // Only the folder of the default database is made.
  if (theirs != default_database_path_or_none()) tuning.db = theirs.string();
  return tuning;
}

// Sets a flag once the program has ended.
class EndWatch {
 public:
  explicit EndWatch(const RunningProgram& program) {
    constexpr int kIntervalMs = 200;
    const SignalsBlocked blocked;
    thread_ = std::jthread([this, &program](const std::stop_token& stop) {
      while (!stop.stop_requested() && !ended_) ended_ = program.awaited_end(kIntervalMs);
    });
  }
  const std::atomic<bool>& ended() const { return ended_; }

 private:
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last: it uses the flag
};

class WhileRunning {
 public:
  WhileRunning(const SpeedUpOptions& options, const Call& call)
      : options_(options),
        call_(call),
        share_{gpu_share(options)},
        program_(options.while_running),
        tuning_(tuning_for(options, program_)),
        target_(asked_target(options.target)),
        end_(Clock::now() + parse_duration(options.time)) {}

  int run() {
    tune_request(tuning_, target_, {});  // what cannot be tuned is refused before it begins
    watch_for_signals();                 // before it says that Ctrl-C keeps what is found
    Database database = open_for_tuning(tuning_);
    tell(options_,
         "gemm-tune: process {} runs {}; what it multiplies is tuned on {} for {} at most, in "
         "{:.0f} % of the GPU's time; Ctrl-C keeps what is found",
         program_.pid(), short_name(program_.command()), text_of(target_.spec), options_.time,
         100 * share_.share);
    while (!is_over()) {
      const std::vector<WantedProblem> wanted = wanted_problems(program_.called());
      has_called_ = has_called_ || !wanted.empty();
      const Turn turn = turns_.next(wanted, left());
      turn.products.empty() ? wait() : tune(turn, database);
    }
    if (has_searched_) database.confirm_stored();
    return tell_end(database);
  }

 private:
  std::chrono::seconds left() const {
    return std::chrono::duration_cast<std::chrono::seconds>(end_ - Clock::now());
  }
  bool is_over() const {
    return has_been_interrupted() || watch_.ended() || left() < std::chrono::seconds(1);
  }

  // For what the program has not multiplied yet.
  void wait() {
    constexpr int kIntervalMs = 1000;
    if (!std::exchange(waits_, true)) {
      tell(options_, "gemm-tune: {}",
           has_called_ ? "all products so far are searched; it waits for others"
                       : "the program has multiplied nothing yet; it waits for its first product");
    }
    program_.awaited_end(kIntervalMs);
  }

  void tune(const Turn& turn, Database& database) {
    waits_ = false;
    has_searched_ = true;
    TuneRequest request = tune_request(tuning_, target_, weighted(turn.products));
    request.time_limit = turn.time;
    request.gpu_share = share_;
    choose_kernel_cache(tuning_, request);
    const TuneReport report = tune_with_progress(
        std::move(request), tuning_, target_, database, call_.command_line,
        [&](const ProblemReport& problem) {
          if (problem.winner) {
            tell(options_, "  {}: {}", to_string(problem.problem),
                 found_text(problem, target_.measurable));
          }
        },
        &watch_.ended());
    for (const ProblemReport& problem : report.problems) {
      const std::string product = to_string(problem.problem);
      if (problem.winner) with_winner_.insert(product);
      if (problem.cut_short != CutShort::by_time_limit) turns_.finish(product);
    }
  }

  int tell_end(const Database& database) const {
    const std::string kept =
        fmt::format("{} with a winner in {}", counted(with_winner_.size(), "product"),
                    database.path().string());
    if (has_been_interrupted()) {
      tell_all("gemm-tune: interrupted; {}; the same command goes on from there", kept);
      return kExitInterrupted;
    }
    if (!has_called_) {
      throw NothingFound("process " + std::to_string(program_.pid()) +
                         " made no call of cuBLAS that could be served" +
                         (watch_.ended() ? " until it ended" : ": more --time may see one"));
    }
    tell(options_, "gemm-tune: {}; {}",
         watch_.ended() ? "the program has ended" : "the time is over", kept);
    return with_winner_.empty() ? kExitNothingSurvived : kExitOk;
  }

  const SpeedUpOptions& options_;
  const Call& call_;
  const GpuShare share_;
  RunningProgram program_;
  const TuneOptions tuning_;
  const Target target_;
  const ClockReader clock_reader_;  // time goes on between searches, too
  const Clock::time_point end_;
  const EndWatch watch_{program_};
  Turns turns_;
  std::set<std::string> with_winner_;
  bool has_called_ = false, has_searched_ = false, waits_ = false;
};

}  // namespace

int speed_up_while_running(const SpeedUpOptions& options, const Call& call) {
  if (!call.application.empty()) {
    throw UsageError("--while-running runs no program: leave out '" + excerpt(call.application[0]) +
                     "', or --while-running");
  }
  return WhileRunning(options, call).run();
}

}  // namespace gemm_tune
