// SPDX-License-Identifier: Apache-2.0
// Shows a run's progress on stderr, that of the first problem under way: on a terminal one line
// that is rewritten and fits the terminal's width, elsewhere a plain line every 10 s, of long runs
// every minute, with --quiet nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tuner/plan/problem_report.h"

namespace gemm_tune {

// "1:05 left", from the share done and the elapsed time; "" if nothing is done yet. Pure.
std::string time_left(std::size_t done, std::size_t total, std::chrono::milliseconds elapsed);

// "2/48 1024x1024x1024: 12/64 tried, best 50 us (1.171 of cuBLAS), compile 15/15, GPU 1/1, 1:05
// left". left: from time_left(). If the line is longer than `columns`, words are left out first,
// then the processes, and then the problem's text is cut. Pure.
std::string progress_line(const Progress& progress, const std::string& left, std::size_t columns);

// The progress of all problems of a run, of which several may be under way. Candidates of earlier
// runs are not counted, because they take no time. Pure.
class RunProgress {
 public:
  explicit RunProgress(std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : limit_(limit) {}

  void note(const Progress& progress);

  // Whether it is the first problem under way, in the request's order: the one to show.
  bool is_first(std::size_t number) const;

  // The time left for all problems, in the form of time_left(). A problem not yet begun counts as
  // much work as the average of the others; the run's time limit bounds the result.
  std::string left(std::chrono::milliseconds elapsed) const;

 private:
  struct Work {
    std::size_t done = 0, all = 0;
    bool is_over = false;
  };
  std::optional<std::chrono::milliseconds> limit_;
  std::size_t problems_ = 1;
  std::map<std::size_t, Work> begun_;  // by the problem's number
};

// From a plain line to the next: a tenth of the elapsed time, from 10 s to a minute. Pure.
std::chrono::milliseconds plain_interval(std::chrono::milliseconds elapsed);

class ProgressPrinter {
 public:
  using Clock = std::chrono::steady_clock;

  // limit: the run's time limit, if any.
  explicit ProgressPrinter(bool quiet,
                           std::optional<std::chrono::milliseconds> limit = std::nullopt,
                           std::function<Clock::time_point()> now = Clock::now);
  ~ProgressPrinter();  // clears the terminal's line
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const Progress& progress);

  // Clears the terminal's line, so that a result can be printed.
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool dirty_ = false;  // the terminal shows a line
  RunProgress run_;
  bool has_shown_ = false;
  std::string last_stage_;
  std::size_t last_number_ = 0;
  const std::function<Clock::time_point()> now_;
  const Clock::time_point start_;
  Clock::time_point last_shown_;
};

}  // namespace gemm_tune
