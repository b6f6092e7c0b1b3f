// SPDX-License-Identifier: Apache-2.0
// gemm-tune speed-up: runs a program and counts its products, tunes them, runs it again under the
// winners, and tells what that gained. A program that runs already is while_running.h's.
//
// All that it says goes to stderr: standard output is the program's.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "choose/choose.h"
#include "cli/arguments/database.h"
#include "cli/capture/run_report.h"
#include "cli/capture/under_drop_in.h"
#include "cli/capture/unseen_calls.h"
#include "cli/capture/wanted_problems.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/speed_up/record.h"
#include "cli/speed_up/speed_up_options.h"
#include "cli/speed_up/speed_up_text.h"
#include "cli/speed_up/while_running.h"
#include "cli/tune/request.h"
#include "cli/tune/tune_output.h"
#include "cli/tune/tuning.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "core/text/shell_quote.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

// One program's way to its winners.
class SpeedUp {
 public:
  SpeedUp(const SpeedUpOptions& options, const Call& call)
      : options_(options),
        tuning_(tuning_options(options)),
        call_(call),
        program_(command_text(call.application)),
        name_(short_name(program_)),
        target_(asked_target(options.target)),
        device_(text_of(target_.spec)),
        file_(record_file(database_path(options), call.application)) {}

  int run() {
    // What cannot be tuned or stored is refused before the program runs.
    tune_request(tuning_, target_, {});
    open_for_tuning(tuning_);
    require_record_place(file_);
    if (!options_.again) recall();
    tunes_ = !record_ || !record_->is_tuned;
    if (!record_) {
      if (const std::optional<int> ended = capture()) return *ended;
    }
    if (!record_->is_tuned) {
      tell_products();
      if (const std::optional<int> ended = tune_products()) return *ended;
    }
    return serve();
  }

 private:
  template <class... Values>
  void tell(fmt::format_string<Values...> form, Values&&... values) const {
    gemm_tune::tell(options_, form, std::forward<Values>(values)...);
  }

  // What an earlier call has kept, where it still holds.
  void recall() {
    record_ = read_record(file_);
    if (!record_) return;
    if (record_->device != device_) {
      tell("gemm-tune: {} was run on {} before: it begins anew", name_, record_->device);
      record_.reset();
      return;
    }
    record_->is_tuned = record_->is_tuned && has_winners();
    tell("gemm-tune: the products that {} multiplied on {} UTC are known{}; --again forgets them",
         name_, record_->when,
         record_->is_tuned ? " and tuned: it starts served" : " and not tuned to the end");
  }

  // Whether a winner for one of the products still counts.
  bool has_winners() const {
    const Database database = open_for_reading(options_);
    const std::vector<WantedProblem> wanted = wanted_problems(record_->called);
    const std::vector<Winner> winners = load_winners(database, target_.spec.arch);
    return std::any_of(winners.begin(), winners.end(), [&](const Winner& winner) {
      if (winner.record.device != device_key(target_.spec)) return false;
      return std::any_of(wanted.begin(), wanted.end(), [&](const WantedProblem& one) {
        return sameness(winner.record.problem, one.problem) != Sameness::none;
      });
    });
  }

  // Runs the program as it is. Returns an exit code where the command ends there.
  std::optional<int> capture() {
    tell("gemm-tune: 1 of 3: {} runs as it is, and its products are counted", name_);
    const ScratchDir scratch("gemm-tune-speed-up");
    DropInOptions without_winners = options_;
    without_winners.db = (scratch.path() / "no-winners.db").string();
    const std::filesystem::path report = scratch.path() / "report.jsonl";
    const ApplicationEnd end = run_under_drop_in(call_.application, without_winners, report);
    SpeedUpRecord record{program_, utc_minute(), device_, end.seconds, false, false, {}};
    record.is_whole = end.exit_code == 0 && !end.was_signalled;
    record.called = read_called_problems(report);
    if (wanted_problems(record.called).empty()) {
      return ended_without_calls(call_.application, name_, end.exit_code, options_.audit);
    }
    write_record(file_, record);
    record_ = std::move(record);
    if (end.was_signalled) {
      tell_all(
          "gemm-tune: interrupted; kept: {} of the program; the same command goes on with the "
          "search",
          counted(wanted_problems(record_->called).size(), "product"));
      return kExitInterrupted;
    }
    if (end.exit_code != 0) {
      tell_all(
          "gemm-tune: the program itself failed, with exit code {}, before anything was served; "
          "kept: {}, which the same command tunes all the same",
          end.exit_code, counted(wanted_problems(record_->called).size(), "product"));
      return end.exit_code;
    }
    return std::nullopt;
  }

  void tell_products() const {
    const std::vector<WantedProblem> wanted = wanted_problems(record_->called);
    const std::optional<double> gemm = gemm_us(record_->called);
    tell("gemm-tune: {} in {}, {} of cuBLAS with {} to tune{}\n{}", name_,
         short_duration_text(record_->seconds * 1e6), counted(calls_of(record_->called), "call"),
         counted(wanted.size(), "product"),
         gemm ? ", " + short_duration_text(*gemm) + " of GPU time" : "",
         products_text(wanted, target_.spec));
  }

  // Returns an exit code where the command ends there.
  std::optional<int> tune_products() {
    watch_for_signals();  // before it says that Ctrl-C keeps what is found
    const std::vector<WantedProblem> wanted = wanted_problems(record_->called);
    tell(
        "gemm-tune: 2 of 3: searches on {} for {} at most, the costliest product first; Ctrl-C "
        "keeps what is found",
        device_, options_.time);
    TuneRequest request = tune_request(tuning_, target_, weighted(wanted));
    choose_kernel_cache(tuning_, request);
    Database database = open_for_tuning(tuning_);
    std::size_t done = 0;
    const TuneReport report = tune_with_progress(
        std::move(request), tuning_, target_, database, call_.command_line,
        [&](const ProblemReport& problem) {
          tell("  {} of {}  {}: {}", ++done, wanted.size(), to_string(problem.problem),
               found_text(problem, target_.measurable));
        });
    database.confirm_stored();
    if (report.interrupted) {
      tell_all(
          "gemm-tune: interrupted; what was found is stored in {}, and the same command goes on "
          "from there",
          database.path().string());
      return kExitInterrupted;
    }
    const bool has_winner =
        std::any_of(report.problems.begin(), report.problems.end(),
                    [](const ProblemReport& problem) { return problem.winner.has_value(); });
    if (!has_winner) {
      tell_all("gemm-tune: no product has a winner: more --time may find some");
      const int code = exit_code(report);
      return code == kExitOk ? kExitNothingSurvived : code;
    }
    record_->is_tuned = true;
    write_record(file_, *record_);
    return std::nullopt;
  }

  int serve() const {
    if (tunes_) tell("gemm-tune: 3 of 3: {} runs under the winners", name_);
    const ScratchDir scratch("gemm-tune-speed-up");
    const std::filesystem::path report = scratch.path() / "report.jsonl";
    const ApplicationEnd end = run_under_drop_in(call_.application, options_, report);
    const CalledProblems called = read_called_problems(report);
    const bool is_whole = end.exit_code == 0 && !end.was_signalled;
    if (record_->is_whole && is_whole) {
      tell("gemm-tune: {}, once each on {}\n{}", name_, device_,
           comparison_text({record_->seconds, gemm_us(record_->called), calls_of(record_->called)},
                           {end.seconds, gemm_us(called), calls_of(called)}));
    } else {
      tell("gemm-tune: {}: no times to compare, for {}", name_, why_not_compared(end));
    }
    constexpr std::size_t kShown = 3;
    tell("{}{}", run_report(called, why_unseen(call_.application, options_.audit), kShown),
         last_line(end, called));
    return end.exit_code;
  }

  std::string why_not_compared(const ApplicationEnd& end) const {
    if (end.was_signalled) return "the served run was interrupted";
    if (end.exit_code != 0) {
      return fmt::format("it failed when it was served, with exit code {}{}", end.exit_code,
                         record_->is_whole ? ", and had not before" : ", as it may without");
    }
    return "the run before was interrupted or failed";
  }

  // Beyond what differs from run to run.
  bool is_much_slower(const ApplicationEnd& end) const {
    constexpr double kShare = 1.05, kSeconds = 1;
    return record_->is_whole && end.exit_code == 0 && end.seconds > kShare * record_->seconds &&
           end.seconds > record_->seconds + kSeconds;
  }

  // How to have it so from now on, or why not to.
  std::string last_line(const ApplicationEnd& end, const CalledProblems& called) const {
    const bool fails_only_served = end.exit_code != 0 && !end.was_signalled && record_->is_whole;
    if (fails_only_served) return "gemm-tune: leave the program as it is: " + program_;
    const bool is_served =
        std::any_of(called.problems.begin(), called.problems.end(),
                    [](const CalledProblem& problem) { return problem.served > 0; });
    if (!is_served) return "gemm-tune: nothing was served: the program is as it was";
    if (is_much_slower(end)) {
      return "gemm-tune: it took longer served: leave the program as it is: " + program_;
    }
    const std::optional<std::string> accuracy = asked_accuracy();
    return "gemm-tune: from now on: " +
           (accuracy ? "GEMM_TUNE_BLAS_ACCURACY=" + *accuracy + " " : "") + "gemm-tune run" +
           (options_.audit ? " --audit" : "") + database_words(options_) + " -- " + program_;
  }

  const SpeedUpOptions& options_;
  const TuneOptions tuning_;
  const Call& call_;
  const std::string program_, name_;
  const Target target_;
  const std::string device_;
  const std::filesystem::path file_;
  std::optional<SpeedUpRecord> record_;
  bool tunes_ = false;
};

}  // namespace

void add_speed_up(CLI::App& app, Call& call) {
  attach<SpeedUpOptions>(app, call, [](const SpeedUpOptions& options, const Call& asked) {
    if (options.while_running != 0) return speed_up_while_running(options, asked);
    require_drop_in(asked.application, "speed-up");
    return SpeedUp(options, asked).run();
  });
}

}  // namespace gemm_tune
