// SPDX-License-Identifier: Apache-2.0
// The output of a run, a query or a ladder as text for people; tuner/report/problem_json.h has it
// for programs. Pure: values in, text out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/measure/sampling.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/target.h"

namespace gemm_tune {

// Which card an architecture stands for and how to name another; empty for any other target.
std::string card_note(const Target& target);

// Why a predicted problem cannot run on the target at all; empty where it can.
std::string memory_note(const ProblemReport& report, const Target& target);

// The label of every prediction.
inline constexpr const char* kPredictedLabel = "predicted, not timed";

// Where the static model's constants are fitted to no times on a GPU of the device's architecture:
// a sentence that says so; else empty.
std::string unmeasured_model(const DeviceSpec& device);

// Where the project's tests ran no kernel on a GPU of the device's architecture: a sentence that
// says so; else empty.
std::string unexecuted_kernels(const DeviceSpec& device);

// "12.3 TFLOP/s" from a problem and one launch's time; "-" for a problem without work.
std::string tflops_text(const Problem& problem, double time_us);

// With five digits and the unit that fits: "2.6314 us", "340.21 ms", "70.95 s".
std::string duration_text(double us);

// Why a problem has no winner, as the begin of a sentence.
std::string why_no_winner(const ProblemReport& report);

// "static model, and 300 timings at 1024x1024x1024, 80 on NVIDIA A10 and 40 elsewhere".
std::string prior_text(const std::vector<PriorSource>& timings);

// "errors within 1 of cuBLAS's: 3 faster candidates passed over".
std::string error_limit_text(const ErrorLimit& limit);

std::string funnel_text(const Funnel& funnel, bool measured);
std::string problem_text(const ProblemReport& report, const Target& target);

// median_interval() of the outcome's samples; nothing below 6 of them, which it needs.
std::optional<Interval> interval_of(const Outcome& outcome);

// The canonical texts of the configs.
std::vector<std::string> texts_of(const std::vector<TuneWinner>& winners);

// A candidate's time with its uncertainty: "50 us (95 %: 49.8 to 50.3), 42.9 TFLOP/s". Without an
// interval_of() the outcome the time alone.
std::string time_text(const Problem& problem, const Outcome& outcome);

// The config and, of a library's algorithm, whose it is: "cublaslt/ALGO=66  (cublasLt 13.1.0)".
std::string config_text(const TuneWinner& winner);

// The text behind a measured candidate's time_text(): "; cublasSgemm 13.1.0 40 us, 53.7 TFLOP/s:
// 0.800 of its speed". Further baselines follow on lines of their own.
std::string baselines_text(const Problem& problem, const Outcome& outcome,
                           const std::vector<Baseline>& baselines, const std::string& indent);

// More facts about a measured candidate, one per line: its cold time and its error beside the
// baselines', its tie set, the cause of disturbed samples. tied: config texts; five are named, the
// rest is counted.
std::string measured_details(const Problem& problem, const Outcome& outcome,
                             const std::vector<Baseline>& baselines,
                             const std::vector<std::string>& tied, const std::string& indent);

// Lines on how to turn predictions into timings. command_line: of the run that predicted; it has a
// line of its own, to be copied.
std::string how_to_time(const Target& target, const std::string& command_line);

}  // namespace gemm_tune
