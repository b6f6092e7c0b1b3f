// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page/database_summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/text/printable.h"
#include "search/model/machine_profile.h"
#include "tuner/measure/baseline_kind.h"
#include "tuner/report/page/problem_summary.h"

namespace gemm_tune {
namespace {

// Peak rates by the table of devices; null for a card that it does not list.
nlohmann::json device_json(const DeviceKey& key) {
  nlohmann::json json = {{"arch", key.arch},
                         {"name", printable(key.name, kLongestQuote)},
                         {"sm_count", key.sm_count},
                         {"rates", nullptr}};
  const std::optional<DeviceSpec> spec = find_device_spec(key.arch);
  if (!spec || spec->name != key.name || spec->sm_count != key.sm_count) return json;
  const double cycles_per_us = static_cast<double>(spec->clock_mhz) * key.sm_count;
  json["rates"] = {{"clock_mhz", spec->clock_mhz},
                   {"dram_gb_per_s", spec->dram_gb_per_s},
                   {"fp32", rounded(2e-6 * spec->fp32_lanes_per_sm * cycles_per_us)},
                   {"tensor", nullptr}};
  const MachineProfile& profile = machine_profile(key.arch);
  if (profile.arch == key.arch) {
    const bool is_geforce = key.name.find("GeForce") != std::string::npos;
    const double share = is_geforce ? profile.model.geforce_tensor_share : 1;
    const double multiplications = share * profile.model.tensor_multiplications_per_cycle;
    json["rates"]["tensor"] = rounded(2e-6 * multiplications * cycles_per_us);
  }
  return json;
}

// Of every operand once: A and B read, D written.
double least_bytes(const Problem& p) {
  const auto size = [&](std::int64_t rows, std::int64_t columns, ElementType type) {
    return static_cast<double>(rows) * static_cast<double>(columns) * bytes_of(type);
  };
  return static_cast<double>(p.batch) *
         (size(p.M, p.K, p.signature.a) + size(p.K, p.N, p.signature.b) +
          size(p.M, p.N, p.signature.d));
}

// Each distinct list of parameters of a family, and the configs by the number of theirs.
class ConfigTable {
 public:
  std::size_t number_of(const Config& config, std::size_t id) {
    const auto [known, is_new] = numbers_.try_emplace(id, rows_.size());
    if (!is_new) return known->second;
    nlohmann::json names = nlohmann::json::array();
    for (const auto& [name, value] : config.params) names.push_back(short_text(name));
    const nlohmann::json form = {{"family", short_text(config.family)}, {"params", names}};
    const auto place = std::find(forms_.begin(), forms_.end(), form);
    nlohmann::json row = {place - forms_.begin()};
    if (place == forms_.end()) forms_.push_back(form);
    for (const auto& [name, value] : config.params) row.push_back(value);
    rows_.push_back(std::move(row));
    return known->second;
  }
  const nlohmann::json& forms() const { return forms_; }
  const nlohmann::json& rows() const { return rows_; }

 private:
  std::map<std::size_t, std::size_t> numbers_;
  nlohmann::json forms_ = nlohmann::json::array(), rows_ = nlohmann::json::array();
};

// How many points of each place are shown, if `most` are in all: a place with few gives its rest to
// the others.
std::size_t points_of_each(std::vector<std::size_t> counts, std::size_t most) {
  std::sort(counts.begin(), counts.end());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t each = most / (counts.size() - i);
    if (counts[i] >= each) return each;
    most -= counts[i];
  }
  return most;
}

// Of one problem, columns of at most `most` points.
nlohmann::json points_json(const std::vector<SummaryPoint>& points, std::size_t most,
                           const std::vector<Config>& configs, ConfigTable& table) {
  nlohmann::json json = nlohmann::json::object();
  for (const char* name : {"config", "try", "us", "registers", "smem_bytes", "ctas_per_sm"}) {
    json[name] = nlohmann::json::array();
  }
  for (const std::size_t i : thinned(points.size(), most)) {
    const SummaryPoint& point = points[i];
    json["config"].push_back(table.number_of(configs[point.config], point.config));
    json["try"].push_back(point.attempt);
    json["us"].push_back(rounded(point.us));
    const auto add = [&](const char* name, int Resources::*member) {
      json[name].push_back(point.resources ? nlohmann::json((*point.resources).*member)
                                           : nlohmann::json());
    };
    add("registers", &Resources::registers);
    add("smem_bytes", &Resources::smem_bytes);
    add("ctas_per_sm", &Resources::ctas_per_sm);
  }
  return json;
}

}  // namespace

struct DatabaseSummary::Impl {
  struct Place {  // a problem on a device
    std::size_t device = 0;
    Problem problem;
    ProblemSummary summary;
    nlohmann::json winner;
  };

  explicit Impl(KernelRevisions kernel_revisions) : revisions(std::move(kernel_revisions)) {}

  std::size_t config_number(const std::string& text) {
    const auto [known, is_new] = config_numbers.try_emplace(text, configs.size());
    if (is_new) configs.push_back(parse_config(text));
    return known->second;
  }

  void begin_place(const Record& row);
  void end_place();
  void add(const Record& row, bool counts);
  static nlohmann::json place_json(const Place& place);
  nlohmann::json json_within(const SummaryLimits& limits) const;

  const KernelRevisions revisions;
  std::uint64_t rows = 0, other_kernels = 0;
  std::set<std::string> environments;
  std::vector<DeviceKey> devices;
  std::vector<Place> places;
  std::map<std::pair<std::size_t, Problem>, std::size_t> place_numbers;  // by device and problem
  std::map<std::string, std::size_t> config_numbers;
  std::vector<Config> configs;
  std::optional<ProblemRows> open;  // of the last place, whose rows come
};

void DatabaseSummary::Impl::begin_place(const Record& row) {
  const bool same_device = !devices.empty() && devices.back() == row.device;
  if (open && same_device && places.back().problem == row.problem) return;
  end_place();
  if (!same_device) devices.push_back(row.device);
  place_numbers[{devices.size() - 1, row.problem}] = places.size();
  places.push_back({devices.size() - 1, row.problem, {}, {}});
  open.emplace();
}

void DatabaseSummary::Impl::end_place() {
  if (!open) return;
  places.back().summary = std::move(*open).summary(configs);
  open.reset();
}

void DatabaseSummary::Impl::add(const Record& row, bool counts) {
  const auto current = revisions.find(row.config.substr(0, row.config.find('/')));
  const bool holds = current != revisions.end() && current->second == row.revision;
  if (counts) ++(holds ? rows : other_kernels);
  if (!holds) return;
  const std::string driver =
      row.run.driver_version.empty() ? "no GPU" : "driver " + row.run.driver_version;
  environments.insert(short_text("CUDA " + row.run.cuda_version + ", " + driver));
  begin_place(row);
  open->add(row, counts, config_number(row.config));
}

nlohmann::json DatabaseSummary::Impl::place_json(const Place& place) {
  return {{"device", place.device},
          {"problem", to_string(place.problem)},
          {"type", to_string(place.problem.signature)},
          {"pipe", uses_tensor_cores(place.problem.signature) ? "tensor" : "fp32"},
          {"flops", flops(place.problem)},
          {"bytes", least_bytes(place.problem)},
          {"source", to_string(place.summary.source)},
          {"tried", place.summary.tried},
          {"timed", place.summary.points.size()},
          {"winner", place.winner},
          {"detail", nullptr}};
}

nlohmann::json DatabaseSummary::Impl::json_within(const SummaryLimits& limits) const {
  // The problems with the most candidates; the page keeps the order of the database.
  std::vector<std::size_t> by_size(places.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return places[a].summary.tried > places[b].summary.tried;
  });
  by_size.resize(std::min(by_size.size(), limits.problems));
  std::vector<bool> is_detailed(places.size());
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < std::min(by_size.size(), limits.detailed); ++i) {
    is_detailed[by_size[i]] = true;
    counts.push_back(places[by_size[i]].summary.points.size());
  }
  const std::size_t each = points_of_each(counts, limits.points);
  std::sort(by_size.begin(), by_size.end());

  ConfigTable table;
  nlohmann::json problems = nlohmann::json::array(), known_devices = nlohmann::json::array();
  for (const std::size_t i : by_size) {
    nlohmann::json one = place_json(places[i]);
    if (is_detailed[i]) {
      one["detail"] = places[i].summary.detail;
      one["detail"]["points"] = points_json(places[i].summary.points, each, configs, table);
    }
    problems.push_back(std::move(one));
  }
  for (const DeviceKey& device : devices) known_devices.push_back(device_json(device));
  constexpr std::size_t kMostEnvironments = 4;
  std::vector<std::string> known_environments(environments.begin(), environments.end());
  if (known_environments.size() > kMostEnvironments) {
    known_environments.resize(kMostEnvironments);
    known_environments.push_back("others");
  }
  return {{"rows", rows},
          {"rows_of_other_revisions", other_kernels},
          {"problem_count", places.size()},
          {"devices", known_devices},
          {"environments", known_environments},
          {"forms", table.forms()},
          {"configs", table.rows()},
          {"problems", problems}};
}

DatabaseSummary::DatabaseSummary(KernelRevisions revisions)
    : impl_(std::make_unique<Impl>(std::move(revisions))) {}
DatabaseSummary::~DatabaseSummary() = default;
DatabaseSummary::DatabaseSummary(DatabaseSummary&&) noexcept = default;

void DatabaseSummary::add(const Record& row, bool counts) { impl_->add(row, counts); }

void DatabaseSummary::set_winner(const Record& winner, const std::vector<Baseline>& baselines) {
  impl_->end_place();
  const auto device = std::find(impl_->devices.begin(), impl_->devices.end(), winner.device);
  const auto place = impl_->place_numbers.find(
      {static_cast<std::size_t>(device - impl_->devices.begin()), winner.problem});
  if (place == impl_->place_numbers.end()) return;
  nlohmann::json beside = nlohmann::json::array();
  for (const Baseline& baseline : baselines) {
    beside.push_back({{"name", short_text(to_string(baseline))},
                      {"kind", to_string(kind_of(baseline.name))},
                      {"us", rounded(baseline.timing.median_us)},
                      {"cold_us", rounded(baseline.timing.cold_us)}});
  }
  const Outcome& outcome = winner.outcome;
  impl_->places[place->second].winner = {
      {"config", printable(winner.config)},
      {"source", to_string(winner.source)},
      {"us", rounded(outcome.time_us())},
      {"cold_us", rounded(outcome.timing ? outcome.timing->cold_us : std::nullopt)},
      {"baselines", beside}};
}

std::uint64_t DatabaseSummary::row_count() const { return impl_->rows + impl_->other_kernels; }

nlohmann::json DatabaseSummary::json(SummaryLimits limits) const {
  impl_->end_place();
  while (true) {
    nlohmann::json json = impl_->json_within(limits);
    const bool is_least = limits.problems <= 1 && limits.detailed == 0;
    if (is_least || json.dump().size() <= limits.bytes) return json;
    limits.problems = std::max<std::size_t>(std::min(limits.problems, impl_->places.size()) / 2, 1);
    limits.points /= 2;
    // A single problem keeps the rest of its detail as long as fewer points help.
    limits.detailed = limits.points == 0 ? 0 : std::max<std::size_t>(limits.detailed / 2, 1);
  }
}

}  // namespace gemm_tune
