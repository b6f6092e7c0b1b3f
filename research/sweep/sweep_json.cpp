// SPDX-License-Identifier: Apache-2.0
// Readers of recorded sweeps in JSON: Kernel Tuner's cache files and T4 results.
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text/printable.h"
#include "research/sweep/sweep_entries.h"

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

// 8, 8.0 and "8" are one value. what: the owner of the value, for the error message.
std::string text_of(const Json& value, const std::string& what) {
  if (value.is_structured()) throw UsageError(what + " is neither a number nor a text");
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < 1e15) {
      return std::to_string(static_cast<long long>(number));
    }
  }
  return value.dump();
}

// A time above zero, converted by `unit_us` to microseconds.
std::optional<double> time_of(const Json& value, double unit_us) {
  if (!value.is_number()) return std::nullopt;
  const double time = value.get<double>();
  return std::isfinite(time) && time > 0 ? std::optional(time * unit_us) : std::nullopt;
}

std::optional<Problem> problem_of(const Json& text) {
  if (!text.is_string()) return std::nullopt;
  try {
    return parse_problem(text.get<std::string>());
  } catch (const UsageError&) {  // the text of another program
    return std::nullopt;
  }
}

std::optional<DeviceSpec> device_of(const Json& name) {
  if (!name.is_string()) return std::nullopt;
  const std::vector<DeviceSpec> cards = find_cards(name.get<std::string>());
  return cards.size() == 1 ? std::optional(cards[0]) : std::nullopt;
}

// Times are in milliseconds. A failed entry has a word as its time ("RuntimeFailedConfig"), or an
// __error__.
Sweep kernel_tuner_cache(const Json& file, const std::string& name, const SweepBounds& bounds) {
  const auto keys = file.find("tune_params_keys");
  if (keys == file.end() || !keys->is_array() || keys->empty()) {
    throw UsageError("sweep '" + name + "' has a cache but no list tune_params_keys");
  }
  std::vector<std::string> names;
  for (const Json& key : *keys) {
    if (!key.is_string()) {
      throw UsageError("sweep '" + name + "' has a tune_params_keys entry that is no text but " +
                       key.type_name());
    }
    names.push_back(key.get<std::string>());
  }
  std::vector<Entry> entries;
  for (const auto& [key, recorded] : file["cache"].items()) {
    Entry entry = {key, {}, {}};
    if (!recorded.is_object()) {
      throw UsageError("sweep '" + name + "': entry '" + excerpt(key) + "' is no object");
    }
    for (const std::string& param : names) {
      const auto value = recorded.find(param);
      if (value == recorded.end()) {
        throw UsageError("sweep '" + name + "': entry '" + excerpt(key) + "' lacks " +
                         excerpt(param));
      }
      entry.values[param] = text_of(
          *value, fmt::format("sweep '{}': entry '{}': {}", name, excerpt(key), excerpt(param)));
    }
    if (!recorded.contains("__error__")) {
      entry.time_us = time_of(recorded.value("time", Json()), 1000);
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) throw UsageError("sweep '" + name + "' has an empty cache");
  Sweep sweep = sweep_of(name, names, entries, bounds);
  sweep.problem = problem_of(file.value("problem_size", Json()));
  sweep.device = device_of(file.value("device_name", Json()));
  if (!sweep.problem || !sweep.device) return sweep;
  std::map<std::string, std::string> fixed;
  const Json others = file.value("fixed_params", Json());
  if (others.is_object()) {
    for (const auto& [param, value] : others.items()) {
      fixed[param] = text_of(value, fmt::format("sweep '{}': fixed_params: {}", name, param));
    }
  }
  const Json family = file.value("kernel_name", Json());
  if (family.is_string()) {
    sweep.family = family.get<std::string>();
    fixed[kFamilyParam] = sweep.family;
  }
  predict_times(sweep, entries, fixed);
  return sweep;
}

double unit_us(const std::string& unit, const std::string& name) {
  if (unit == "s" || unit == "seconds") return 1e6;
  if (unit == "ms" || unit == "milliseconds" || unit.empty()) return 1e3;
  if (unit == "us" || unit == "microseconds") return 1;
  if (unit == "ns" || unit == "nanoseconds") return 1e-3;
  throw UsageError("sweep '" + name + "' has a time in '" + excerpt(unit) +
                   "', which is none of s, ms, us, ns");
}

// The measurement called "time", or else the mean of the run times.
std::optional<double> t4_time(const Json& result, const std::string& name) {
  for (const Json& measurement : result.value("measurements", Json::array())) {
    if (measurement.is_object() && measurement.value("name", Json()) == "time") {
      const Json unit = measurement.value("unit", Json("ms"));
      return time_of(measurement.value("value", Json()),
                     unit_us(unit.is_string() ? unit.get<std::string>() : "", name));
    }
  }
  const Json times = result.value("times", Json::object());
  const Json runs = times.is_object() ? times.value("runtimes", Json::array()) : Json::array();
  double sum = 0;
  for (const Json& run : runs) {
    if (!run.is_number()) return std::nullopt;
    sum += run.get<double>();
  }
  return time_of(runs.empty() ? Json() : Json(sum / static_cast<double>(runs.size())), 1000);
}

// The first result's parameters in the file's order. Does not keep other results in memory.
std::vector<std::string> first_configuration(const std::string& text) {
  using Ordered = nlohmann::ordered_json;
  bool has_first = false;
  const auto keep = [&](int depth, Ordered::parse_event_t event, Ordered& value) {
    constexpr int kResult = 2;  // depth of a result: an object in the list in the file's object
    if (depth != kResult || event != Ordered::parse_event_t::object_end) return true;
    if (!value.contains("configuration")) return true;
    return !std::exchange(has_first, true);
  };
  const Ordered file = Ordered::parse(text, keep);
  std::vector<std::string> names;
  for (const auto& [param, value] : file["results"][0]["configuration"].items()) {
    names.push_back(param);
  }
  return names;
}

// text: the file itself. It gives the order of the parameters, which `file` has lost.
Sweep t4_results(const Json& file, const std::string& text, const std::string& name,
                 const SweepBounds& bounds) {
  std::vector<std::string> names;
  std::vector<Entry> entries;
  std::set<std::string> seen;
  const Json& results = file["results"];
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json& result = results[i];
    const std::string which = fmt::format("sweep '{}': result {}", name, i);
    if (!result.is_object() || !result.contains("configuration") ||
        !result["configuration"].is_object() || result["configuration"].empty()) {
      throw UsageError(which + " has no configuration");
    }
    Entry entry;
    const Json& configuration = result["configuration"];
    if (names.empty()) {
      names = first_configuration(text);
    }
    for (const std::string& param : names) {
      if (!configuration.contains(param)) throw UsageError(which + " lacks " + param);
      entry.values[param] = text_of(configuration[param], which + ": " + param);
      entry.key += (entry.key.empty() ? "" : ",") + entry.values[param];
    }
    const Json invalidity = result.value("invalidity", Json("correct"));
    const bool valid = invalidity.is_null() || invalidity == "" || invalidity == "correct";
    if (valid) entry.time_us = t4_time(result, name);
    if (seen.insert(entry.key).second) entries.push_back(std::move(entry));
  }
  if (entries.empty()) throw UsageError("sweep '" + name + "' has no results");
  return sweep_of(name, names, entries, bounds);
}

// Replaces NaN and infinities by null: Python writes them, but JSON does not have them.
std::string without_nan(std::string text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const char* word : {"NaN", "-Infinity", "Infinity"}) {
        if (text.compare(i, std::strlen(word), word) == 0) {
          text.replace(i, std::strlen(word), "null");
          break;
        }
      }
    }
  }
  return text;
}

// Counts the values and stops at the bound: a value of two bytes of text takes some hundred bytes
// of memory. (A callback of Json::parse() takes quadratic time in an object's entries.)
class ValueCounter : public nlohmann::json_sax<Json> {
 public:
  explicit ValueCounter(std::size_t most) : most_(most) {}
  bool is_exceeded() const { return values_ > most_; }

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(Json::number_integer_t) override { return count(); }
  bool number_unsigned(Json::number_unsigned_t) override { return count(); }
  bool number_float(Json::number_float_t, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool binary(Json::binary_t&) override { return count(); }
  bool start_object(std::size_t) override { return count(); }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return count(); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;  // the real parser reports the error
  }

 private:
  bool count() { return ++values_ <= most_; }
  std::size_t most_;
  std::size_t values_ = 0;
};

// A cache is written a line for each entry, with a comma at its end; the closing braces come when
// the job ends. What an interrupted job has left, up to its last whole entry, with the braces.
std::string closed(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const bool is_open =
      last != text.npos && text[last] != '}' && text.find("\"cache\"") != text.npos;
  const std::size_t entry = is_open ? text.rfind("},") : text.npos;
  return entry == text.npos ? text : text.substr(0, entry + 1) + "}}";
}

Json parse_json(const std::string& text, const std::string& name, std::size_t most_values) {
  ValueCounter counter(most_values);
  Json::sax_parse(text, &counter);
  if (counter.is_exceeded()) {
    throw UsageError(fmt::format("sweep '{}' holds more than {} values", name, most_values));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw UsageError("sweep '" + name + "' is not JSON from byte " + std::to_string(error.byte) +
                     " on");
  } catch (const Json::out_of_range&) {
    throw UsageError("sweep '" + name + "' holds a number that is too large for a double");
  }
}

}  // namespace

Sweep parse_sweep(const std::string& text, const std::string& name, const SweepBounds& bounds) {
  const std::string json = closed(without_nan(text));
  const Json file = parse_json(json, name, bounds.values);
  if (file.is_object() && file.contains("cache") && file["cache"].is_object()) {
    return kernel_tuner_cache(file, name, bounds);
  }
  if (file.is_object() && file.contains("results") && file["results"].is_array()) {
    return t4_results(file, json, name, bounds);
  }
  throw UsageError("sweep '" + name +
                   "' is neither a Kernel Tuner cache file nor T4 results: it has no object "
                   "\"cache\" and no list \"results\"");
}

}  // namespace gemm_tune
