// SPDX-License-Identifier: Apache-2.0
// Whether a run of this program can have stored these values.
//
// Writing and reading rows use the same rules: a file may be damaged or come from anybody. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "db/database.h"

namespace gemm_tune {

// The fault, as the end of a sentence about the row ("its predicted_us is not above 0"); nullopt
// for sound values. Texts are UTF-8 of a bounded length; every number is physically possible, as a
// time of a launch, a GPU's power or the registers of a thread; no time is shorter than a GPU with
// as many SMs can take for the problem; the median is that of the samples; config and problem are
// canonical texts.
std::optional<std::string> why_unsound(const DeviceKey& device);
std::optional<std::string> why_unsound(const Timing& timing);
std::optional<std::string> why_unsound(const Baseline& baseline);
std::optional<std::string> why_unsound(const DeviceKey& device, const Problem& problem,
                                       const Baseline& baseline);
std::optional<std::string> why_unsound(const RunInfo& run);
std::optional<std::string> why_unsound(const TimedConfig& timed);
std::optional<std::string> why_unsound(const Record& record);  // and its parts

// Whether the text is a moment of 1970 to 2199 as schema.sql has it; tenths of a second and less
// may be left out.
bool is_moment(const std::string& text);

inline constexpr std::size_t kLongestName = 1000;         // bytes; of devices, configs, hashes
inline constexpr std::size_t kLongestDetail = 1'000'000;  // bytes; of reasons and command lines

}  // namespace gemm_tune
