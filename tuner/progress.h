// Shows how a run gets on, on stderr: one line rewritten on a terminal, a plain line now and then
// elsewhere, nothing with --quiet.
#pragma once

#include <chrono>
#include <string>

#include "tuner/tune.h"

namespace gemm_tune {

class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet);
  ~ProgressPrinter();  // leaves the terminal's line clean
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const Progress& progress);

 private:
  void clear();

  bool quiet_;
  bool terminal_;
  bool dirty_ = false;  // a line stands on the terminal
  std::string last_stage_, last_problem_;
  std::chrono::steady_clock::time_point problem_start_, last_shown_;
};

// "1:05 left" from the share done and the time it took; "" before anything is done. Pure.
std::string time_left(std::size_t done, std::size_t budget, std::chrono::milliseconds elapsed);

}  // namespace gemm_tune
