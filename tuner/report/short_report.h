// SPDX-License-Identifier: Apache-2.0
// A problem's report in at most twelve lines, for a person who wants the winner. Pure: values in,
// text out; problem_text() of tuner/report/report.h has everything.
#pragma once

#include <cstddef>
#include <string>

#include "tuner/plan/problem_report.h"
#include "tuner/plan/target.h"

namespace gemm_tune {

inline constexpr std::size_t kMostReportLines = 12;

// The form of a text's lines.
struct PageForm {
  std::size_t columns = 80;
  // A config stands on one line, however long, so that programs can read it. Else it is broken
  // behind commas like other lines behind words.
  bool whole_configs = true;
};

// The winner with its time, its speed beside the baselines', how many candidates were tried, the
// commonest rejections and the prior. The labels of a prediction are never left out. What does not
// fit in kMostReportLines lines is counted in the last one.
std::string short_text(const ProblemReport& report, const Target& target, const PageForm& form);

}  // namespace gemm_tune
