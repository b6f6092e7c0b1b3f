#include "tuner/progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>

namespace gemm_tune {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::milliseconds kPlainInterval{10'000};

}  // namespace

std::string time_left(std::size_t done, std::size_t budget, std::chrono::milliseconds elapsed) {
  if (done == 0 || done >= budget) return "";
  const double share = static_cast<double>(budget - done) / static_cast<double>(done);
  const auto seconds = static_cast<long>(static_cast<double>(elapsed.count()) * share / 1000);
  return fmt::format("{}:{:02} left", seconds / 60, seconds % 60);
}

ProgressPrinter::ProgressPrinter(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressPrinter::~ProgressPrinter() { clear(); }

void ProgressPrinter::clear() {
  if (dirty_) std::fputs("\r\033[K", stderr);
  dirty_ = false;
}

void ProgressPrinter::show(const Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::string problem = to_string(*progress.problem);
  const bool news = problem != last_problem_ || progress.stage != last_stage_;
  if (problem != last_problem_) problem_start_ = now;
  if (!news && now - last_shown_ < (terminal_ ? kTerminalInterval : kPlainInterval)) return;
  last_problem_ = problem;
  last_stage_ = progress.stage;
  last_shown_ = now;

  std::string line =
      fmt::format("{}: {} {}/{}", problem, progress.stage, progress.done, progress.budget);
  if (progress.best_us) line += fmt::format(", best {:.5g} us", *progress.best_us);
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - problem_start_);
  const std::string left = time_left(progress.done, progress.budget, elapsed);
  if (!left.empty()) line += ", " + left;
  clear();
  std::fputs(terminal_ ? line.c_str() : (line + "\n").c_str(), stderr);
  std::fflush(stderr);
  dirty_ = terminal_;
}

}  // namespace gemm_tune
