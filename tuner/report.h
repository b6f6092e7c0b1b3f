// What a run, a query or a ladder says: text for people, JSON for programs. Pure: values in, text
// out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tuner/target.h"
#include "tuner/tune.h"

namespace gemm_tune {

// How every prediction is labelled.
inline constexpr const char* kPredictedLabel = "predicted, not timed";

// "12.3 TFLOP/s" from a problem and one launch's time; "-" for a problem without work.
std::string tflops_text(const Problem& problem, double time_us);

// "1,234,567".
std::string grouped(std::uint64_t value);

std::string funnel_text(const Funnel& funnel, bool measured);
std::string problem_text(const ProblemReport& report, const Target& target);
nlohmann::json problem_json(const ProblemReport& report, const Target& target);

// How to turn predictions into timings.
std::string how_to_time(const Target& target, const std::string& sizes);

}  // namespace gemm_tune
