// SPDX-License-Identifier: Apache-2.0
#include "cli/export/export_t4.h"

#include <nlohmann/json.hpp>

#include "core/candidate/config.h"
#include "core/text/words.h"

namespace gemm_tune {
namespace {

using T4Json = nlohmann::ordered_json;

// The schema's closed list has no word for a launch that failed.
constexpr auto kInvalidities = words<Disposition>({{Disposition::ok, "correct"},
                                                   {Disposition::rejected, "constraints"},
                                                   {Disposition::compile_failed, "compile"},
                                                   {Disposition::launch_failed, "runtime"},
                                                   {Disposition::crashed, "runtime"},
                                                   {Disposition::wrong_result, "correctness"},
                                                   {Disposition::timed_out, "timeout"}});

T4Json times_of(const Outcome& outcome) {
  T4Json times = T4Json::object();
  if (outcome.compile_s) times["compilation_time"] = 1e3 * *outcome.compile_s;
  times["runtimes"] = T4Json::array();
  if (!outcome.timing) return times;
  for (const double us : outcome.timing->samples_us) times["runtimes"].push_back(us / 1e3);
  return times;
}

T4Json measurements_of(const Outcome& outcome) {
  T4Json measurements = T4Json::array();
  const auto add = [&](const char* name, const T4Json& value, const char* unit) {
    measurements.push_back({{"name", name}, {"value", value}, {"unit", unit}});
  };
  if (outcome.timing) {
    add("time", outcome.timing->median_us / 1e3, "ms");
    if (outcome.timing->cold_us) add("time_cold", *outcome.timing->cold_us / 1e3, "ms");
  }
  if (outcome.error) add("relative_error", *outcome.error, "");
  if (outcome.resources) {
    add("registers", outcome.resources->registers, "");
    add("spill", outcome.resources->spill_bytes, "B");
    add("shared_memory", outcome.resources->smem_bytes, "B");
    add("ctas_per_sm", outcome.resources->ctas_per_sm, "");
  }
  if (!outcome.detail.empty()) add("reason", outcome.detail, "");
  return measurements;
}

}  // namespace

std::string t4_text(const std::vector<Record>& records) {
  std::string text = "{\"schema_version\": \"1.0.0\", \"results\": [";
  const char* separator = "\n";
  for (const Record& record : records) {
    T4Json result = T4Json::object();
    result["timestamp"] = record.recorded_at;
    for (const auto& [name, value] : parse_config(record.config).params) {
      result["configuration"][name] = value;
    }
    result["objectives"] = {"time"};
    result["times"] = times_of(record.outcome);
    result["invalidity"] = word_of(kInvalidities, record.outcome.disposition);
    result["correctness"] = record.outcome.disposition == Disposition::ok ? 1 : 0;
    result["measurements"] = measurements_of(record.outcome);
    text += separator + result.dump(-1, ' ', false, T4Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "]}\n";
}

}  // namespace gemm_tune
