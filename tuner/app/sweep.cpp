// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/sweep.h"

#include <spdlog/fmt/fmt.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/config.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/printable.h"
#include "core/problem.h"
#include "db/database.h"
#include "kernel_templates/registry.h"
#include "search/static_model.h"
#include "search/transfer.h"

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

// One entry of a sweep before its space is known.
struct Entry {
  std::string key;
  std::map<std::string, std::string> values;  // by parameter
  std::optional<double> time_us;
};

constexpr const char* kAbsent = "-";       // of a parameter that an entry lacks
constexpr const char* kFamily = "family";  // the parameter that names an entry's family

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Numbers by size, after what is absent and before other texts, which keep their order.
bool comes_before(const std::string& a, const std::string& b) {
  const auto rank = [](const std::string& text) {
    return text == kAbsent ? 0 : number_of(text) ? 1 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return rank(a) == 1 && *number_of(a) < *number_of(b);
}

// names: the parameters in the sweep's order.
Sweep sweep_of(std::string name, const std::vector<std::string>& names,
               const std::vector<Entry>& entries) {
  if (entries.size() > kMostSweepConfigs) {
    throw UsageError(fmt::format("sweep '{}' has {} configs, and {} are the most", name,
                                 entries.size(), kMostSweepConfigs));
  }
  std::vector<SearchParam> params;
  std::vector<std::map<std::string, SearchSpace::ValueIndex>> places(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SearchParam param = {names[i], {}};
    for (const Entry& entry : entries) {
      const std::string& value = entry.values.at(names[i]);
      if (places[i].emplace(value, 0).second) param.values.push_back(value);
    }
    if (param.values.size() > std::numeric_limits<SearchSpace::ValueIndex>::max()) {
      throw UsageError(fmt::format("sweep '{}' has {} values of {}, and 65535 are the most", name,
                                   param.values.size(), names[i]));
    }
    std::stable_sort(param.values.begin(), param.values.end(), comes_before);
    for (std::size_t place = 0; place < param.values.size(); ++place) {
      places[i][param.values[place]] = static_cast<SearchSpace::ValueIndex>(place);
    }
    params.push_back(std::move(param));
  }
  std::vector<SearchSpace::ValueIndex> points;
  points.reserve(entries.size() * names.size());
  for (const Entry& entry : entries) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      points.push_back(places[i].at(entry.values.at(names[i])));
    }
  }
  Sweep sweep = {
      std::move(name), SearchSpace(std::move(params), std::move(points)), {}, {}, {}, {}, {}, {}};
  for (const Entry& entry : entries) {
    sweep.keys.push_back(entry.key);
    sweep.time_us.push_back(entry.time_us);
  }
  if (std::none_of(sweep.time_us.begin(), sweep.time_us.end(),
                   [](const auto& time) { return time.has_value(); })) {
    throw UsageError("sweep '" + sweep.name + "' has no entry with a time");
  }
  return sweep;
}

// The config of these values, where today's family has it. A parameter that came or went since is
// 0 on the side that lacks it: what did not exist was not in use.
std::optional<KnownConfig> todays_config(const KernelFamily& family,
                                         const std::map<std::string, std::string>& values) {
  Config config = {family.name, {}};
  for (const auto& [name, value] : values) {
    if (name == kFamily || family.find_param(name) || value == "0" || value == kAbsent) continue;
    return std::nullopt;
  }
  for (const ParamSpec& param : family.params) {
    const auto value = values.find(param.name);
    const std::optional<double> number =
        number_of(value == values.end() || value->second == kAbsent ? "0" : value->second);
    if (!number || !(std::abs(*number) <= 1e6) || *number != std::floor(*number)) {
      return std::nullopt;
    }
    config.params.emplace_back(param.name, static_cast<int>(*number));
  }
  try {
    return check_config(config);
  } catch (const UsageError&) {  // a rule has changed
    return std::nullopt;
  }
}

// fixed: the values that all entries share and none names.
void foretell(Sweep& sweep, const std::vector<Entry>& entries,
              const std::map<std::string, std::string>& fixed) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  bool any = false;
  for (const Entry& entry : entries) {
    std::map<std::string, std::string> values = fixed;
    for (const auto& [name, value] : entry.values) values[name] = value;
    const auto family = values.find(kFamily);
    const KernelFamily* found = family == values.end() ? nullptr : find_family(family->second);
    const auto config = found ? todays_config(*found, values) : std::nullopt;
    any = any || config;
    sweep.predicted_us.push_back(
        config ? predict(config->traits, *sweep.problem, *sweep.device).time_us : unknown);
  }
  if (!any) sweep.predicted_us.clear();
}

// 8, 8.0 and "8" are one value. what: whose, for the refusal of a value that is none.
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

// A time above zero in units of `unit_us`.
std::optional<double> time_of(const Json& value, double unit_us) {
  if (!value.is_number()) return std::nullopt;
  const double time = value.get<double>();
  return std::isfinite(time) && time > 0 ? std::optional(time * unit_us) : std::nullopt;
}

std::optional<Problem> problem_of(const Json& text) {
  if (!text.is_string()) return std::nullopt;
  try {
    return parse_problem(text.get<std::string>());
  } catch (const UsageError&) {  // another program's words
    return std::nullopt;
  }
}

std::optional<DeviceSpec> device_of(const Json& name) {
  for (const DeviceSpec& spec : device_table()) {
    if (name.is_string() && name == spec.name) return spec;
  }
  return std::nullopt;
}

// Times in milliseconds; a failure is a text that ends in Config, as in "RuntimeFailedConfig".
Sweep kernel_tuner_cache(const Json& file, const std::string& name) {
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
    bool failed = false;
    for (const Json& value : recorded) {
      failed =
          failed || (value.is_string() && value.get_ref<const std::string&>().ends_with("Config"));
    }
    if (!failed && recorded.contains("time")) entry.time_us = time_of(recorded["time"], 1000);
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) throw UsageError("sweep '" + name + "' has an empty cache");
  Sweep sweep = sweep_of(name, names, entries);
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
    fixed[kFamily] = sweep.family;
  }
  foretell(sweep, entries, fixed);
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

// The measurement called "time", else the mean of the run times.
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

// The parameters of the first result in the file's order. Keeps no other result in memory.
std::vector<std::string> first_configuration(const std::string& text) {
  using Ordered = nlohmann::ordered_json;
  bool has_first = false;
  const auto keep = [&](int depth, Ordered::parse_event_t event, Ordered& value) {
    constexpr int kResult = 2;  // an object in the list in the file's object
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

// text: the file, for the order of its parameters, which `file` has lost.
Sweep t4_results(const Json& file, const std::string& text, const std::string& name) {
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
  return sweep_of(name, names, entries);
}

// What Python writes and JSON has no word for.
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

// The text that a gzip file packs, one member after another, or the bytes as they are.
std::string unpacked(std::string bytes, const std::string& path) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> chunk(1 << 20);
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    if (text.size() > kMostSweepBytes) {
      throw UsageError(
          fmt::format("sweep '{}' unpacks to more than {} MB", path, kMostSweepBytes / 1'000'000));
    }
    if (result == Z_STREAM_END) {
      const bool another =
          stream.avail_in > 1 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
      if (!another) return text;
      if (inflateReset(&stream) != Z_OK) throw std::bad_alloc();
    } else if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_out > 0)) {
      throw UsageError("sweep '" + path + "' is packed and cut off");
    } else if (result != Z_OK) {
      throw UsageError("sweep '" + path + "' cannot be unpacked: it is damaged");
    }
  }
}

std::vector<Sweep> read_database(const std::string& path, const LockWait& lock) {
  const Database database(path, Database::Mode::read_only, lock);
  std::map<std::string, std::map<std::string, Entry>> found;  // by sweep and config
  std::map<std::string, std::pair<DeviceKey, Problem>> sources;
  database.for_each_record([&](const Record& record) {
    if (record.source != Source::measured) return;
    Config config;
    try {
      config = parse_config(record.config);
    } catch (const UsageError& error) {
      throw UsageError("database '" + path + "': " + error.what());
    }
    Entry entry = {record.config, {{kFamily, config.family}}, {}};
    for (const auto& [param, value] : config.params) entry.values[param] = std::to_string(value);
    if (record.outcome.disposition == Disposition::ok) entry.time_us = record.outcome.time_us();
    const std::string sweep = record.device.name + " " + to_string(record.problem);
    found[sweep][record.config] = std::move(entry);
    sources.emplace(sweep, std::pair(record.device, record.problem));
  });
  std::vector<Sweep> sweeps;
  for (auto& [name, by_config] : found) {
    std::vector<std::string> names = {kFamily};
    std::vector<Entry> entries;
    for (auto& [config, entry] : by_config) {
      for (const auto& [param, value] : entry.values) {
        if (std::find(names.begin(), names.end(), param) == names.end()) names.push_back(param);
      }
      entries.push_back(std::move(entry));
    }
    for (Entry& entry : entries) {
      for (const std::string& param : names) entry.values.emplace(param, kAbsent);
    }
    // Nothing to find where everything failed.
    if (std::none_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return entry.time_us.has_value(); })) {
      continue;
    }
    Sweep sweep = sweep_of(name, names, entries);
    const auto& [device, problem] = sources.at(name);
    sweep.problem = problem;
    sweep.device = find_device_spec(device.arch);
    if (sweep.device) {
      sweep.device->name = device.name;
      sweep.device->sm_count = device.sm_count;
      foretell(sweep, entries, {});
    }
    sweeps.push_back(std::move(sweep));
  }
  if (sweeps.empty()) throw UsageError("database '" + path + "' holds nothing that was timed");
  return sweeps;
}

// Stops at the bound: a value of two bytes of text takes some hundred of memory. (A callback of
// Json::parse() would take time by the square of an object's entries.)
class ValueCounter : public nlohmann::json_sax<Json> {
 public:
  bool is_exceeded() const { return values_ > kMostSweepValues; }

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
    return false;  // the parser proper says what is wrong
  }

 private:
  bool count() { return ++values_ <= kMostSweepValues; }
  std::size_t values_ = 0;
};

Json parse_json(const std::string& text, const std::string& name) {
  ValueCounter counter;
  Json::sax_parse(text, &counter);
  if (counter.is_exceeded()) {
    throw UsageError(fmt::format("sweep '{}' holds more than {} million values", name,
                                 kMostSweepValues / 1'000'000));
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

Sweep parse_sweep(const std::string& text, const std::string& name) {
  const std::string json = without_nan(text);
  const Json file = parse_json(json, name);
  if (file.is_object() && file.contains("cache") && file["cache"].is_object()) {
    return kernel_tuner_cache(file, name);
  }
  if (file.is_object() && file.contains("results") && file["results"].is_array()) {
    return t4_results(file, json, name);
  }
  throw UsageError("sweep '" + name +
                   "' is neither a Kernel Tuner cache file nor T4 results: it has no object "
                   "\"cache\" and no list \"results\"");
}

std::vector<Sweep> read_sweeps(const std::string& path, const LockWait& lock) {
  if (path.ends_with(".db")) return read_database(path, lock);
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  if (name.extension() == ".json") name = name.stem();
  std::vector<Sweep> sweeps;
  sweeps.push_back(
      parse_sweep(unpacked(read_input_file(path, "sweep", kMostSweepBytes), path), name.string()));
  return sweeps;
}

std::vector<double> transferred_prior(const Sweep& sweep, std::span<const Sweep* const> others) {
  const auto require_model = [](const Sweep& one) {
    if (!one.predicted_us.empty()) return;
    throw UsageError("sweep '" + one.name +
                     "' has no times of the static model, which knows our families on GPUs of its "
                     "table only");
  };
  require_model(sweep);
  std::vector<Evidence> evidence;
  for (const Sweep* other : others) {
    require_model(*other);
    if (other->family != sweep.family) continue;  // they err in their own ways
    Sweep errors = *other;                        // its times are the ratios
    for (std::size_t i = 0; i < errors.time_us.size(); ++i) {
      auto& time = errors.time_us[i];
      if (time) time = *time / errors.predicted_us[i];
      if (time && !(std::isfinite(*time) && *time > 0)) time.reset();
    }
    Evidence source = {
        likeness(*sweep.problem, *other->problem) * likeness(*sweep.device, *other->device), {}};
    const std::vector<double> ratios = prior_from(errors, sweep);
    for (std::size_t point = 0; point < ratios.size(); ++point) {
      if (!std::isnan(ratios[point]))
        source.log_ratios.emplace_back(point, std::log(ratios[point]));
    }
    evidence.push_back(std::move(source));
  }
  return transferred_prior(sweep.space, sweep.predicted_us, evidence);
}

std::vector<double> prior_from(const Sweep& other, const Sweep& sweep) {
  std::vector<std::pair<std::size_t, std::size_t>> shared;  // places of a parameter in either
  const auto& theirs = other.space.params();
  const auto& ours = sweep.space.params();
  for (std::size_t a = 0; a < ours.size(); ++a) {
    for (std::size_t b = 0; b < theirs.size(); ++b) {
      if (ours[a].name == theirs[b].name) shared.emplace_back(a, b);
    }
  }
  std::map<std::vector<std::string>, std::pair<double, int>> sums;  // of logarithms
  std::vector<std::string> values(shared.size());
  for (std::size_t point = 0; point < other.space.size(); ++point) {
    if (!other.time_us[point]) continue;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      const std::size_t param = shared[i].second;
      values[i] = theirs[param].values[other.space.at(point)[param]];
    }
    auto& [sum, count] = sums[values];
    sum += std::log(*other.time_us[point]);
    ++count;
  }
  std::vector<double> prior;
  bool found = false;
  for (std::size_t point = 0; point < sweep.space.size(); ++point) {
    for (std::size_t i = 0; i < shared.size(); ++i) {
      const std::size_t param = shared[i].first;
      values[i] = ours[param].values[sweep.space.at(point)[param]];
    }
    const auto sum = sums.find(values);
    const bool known = !shared.empty() && sum != sums.end();
    prior.push_back(known ? std::exp(sum->second.first / sum->second.second)
                          : std::numeric_limits<double>::quiet_NaN());
    found = found || known;
  }
  if (!found) {
    throw UsageError("the prior '" + other.name + "' has no config in common with '" + sweep.name +
                     "'");
  }
  return prior;
}

}  // namespace gemm_tune
