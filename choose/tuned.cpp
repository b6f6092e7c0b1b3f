// SPDX-License-Identifier: Apache-2.0
#include "choose/tuned.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/problem/cublas_functions.h"
#include "db/validity/checked_configs.h"
#include "kernel_templates/registry/library_families.h"
#include "kernel_templates/registry/order_of_sums.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {
namespace {

// Of a winner among those at equal distance. Made once for each winner: a comparison that wrote the
// problem's text anew would take most of the time in which a database is opened.
struct Preference {
  explicit Preference(const Record& record)
      : problem(to_string(record.problem)),
        is_predicted(record.source == Source::predicted),
        is_kernel(!names_library(record.config)),
        time_us(record.outcome.time_us().value()),
        device(&record.device),
        config(&record.config) {}

  friend bool operator<(const Preference& a, const Preference& b) { return a.key() < b.key(); }

  std::string problem;
  bool is_predicted;
  bool is_kernel;  // else it is an algorithm that beat the problem's best kernel
  double time_us;
  const DeviceKey* device;
  const std::string* config;

 private:
  std::tuple<const std::string&, bool, bool, double, const std::string&, int, const std::string&>
  key() const {
    return {problem, is_predicted, is_kernel, time_us, device->name, device->sm_count, *config};
  }
};

// cuBLAS's own choice for the types, as an application gets it: neither cublasLt's best of several
// nor one that cuBLAS found by timing.
bool is_plain_cublas(const Baseline& baseline) {
  return cublas_function_named(baseline.name).has_value();
}

std::optional<Baseline> cublas_beside(const Database& database, const Record& record) {
  if (!record.baseline) return std::nullopt;
  if (is_plain_cublas(*record.baseline)) return record.baseline;
  try {
    for (Baseline& baseline : database.baselines(record)) {
      if (is_plain_cublas(baseline)) return std::move(baseline);
    }
  } catch (const DatabaseError&) {  // a damaged baseline costs its time only; check() names it
  }
  return std::nullopt;
}

// The algorithms of libraries that are better than every kernel, of the versions by which the
// database was written.
std::vector<Winner> library_winners(const Database& database, const std::string& arch,
                                    const KernelRevisions& revisions, const WinnerRule& rule) {
  std::vector<Winner> winners;
  KernelRevisions all = database.library_revisions();
  if (all.empty()) return winners;
  all.insert(revisions.begin(), revisions.end());
  CheckedConfigs configs;
  const auto may_serve = [&](const std::string& text, const Problem& problem) {
    return configs.may_serve(text, problem);
  };
  for (Record& record : database.winners(arch, all, rule, may_serve)) {
    if (!names_library(record.config)) continue;
    std::optional<Baseline> cublas = cublas_beside(database, record);
    const KnownConfig& config = configs.of(record.config).value();
    winners.push_back({config, std::move(record), std::move(cublas)});
  }
  return winners;
}

}  // namespace

std::vector<Winner> load_winners(const Database& database, const std::string& arch,
                                 const KernelRevisions& revisions, Launches launches,
                                 const WinnerRule& rule) {
  CheckedConfigs configs;
  const auto may_serve = [&](const std::string& text, const Problem& problem) {
    return configs.may_serve(text, problem) &&
           (launches == Launches::any || configs.of(text)->is_exportable());
  };
  std::vector<Winner> winners;
  for (Record& record : database.winners(arch, revisions, rule, may_serve)) {
    const bool is_plain =
        record.problem.epilogue.is_none() && record.problem.batch_kind == BatchKind::strided;
    if (launches == Launches::one && !is_plain) continue;
    const KnownConfig& config = configs.of(record.config).value();
    std::optional<Baseline> cublas = cublas_beside(database, record);
    winners.push_back({config, std::move(record), std::move(cublas)});
  }
  sort_by_preference(winners);
  return winners;
}

std::vector<Winner> load_ordered_winners(const Database& database, const std::string& arch,
                                         const KernelRevisions& revisions, const WinnerRule& rule) {
  CheckedConfigs configs;
  const auto order_of = [&](const std::string& text) {
    const std::optional<KnownConfig>& config = configs.of(text);
    if (!config) return std::optional<std::string>();
    const auto revision = revisions.find(config->family->name);
    const bool is_edited = revision != revisions.end() && is_of_users_texts(revision->second);
    return is_edited ? std::nullopt : order_of_sums(*config);
  };
  std::set<std::string> orders;
  database.winners(arch, revisions, rule, [&](const std::string& text, const Problem&) {
    if (const auto order = order_of(text)) orders.insert(*order);
    return false;
  });
  std::vector<Winner> winners;
  for (const std::string& order : orders) {
    const auto has_it = [&](const std::string& text, const Problem& problem) {
      return order_of(text) == order && configs.may_serve(text, problem);
    };
    for (Record& record : database.winners(arch, revisions, rule, has_it)) {
      const KnownConfig& config = configs.of(record.config).value();
      winners.push_back({config, std::move(record)});
    }
  }
  return winners;
}

void sort_by_preference(std::vector<Winner>& winners) {
  std::vector<std::pair<Preference, std::size_t>> order;
  order.reserve(winners.size());
  for (const Winner& winner : winners) order.emplace_back(Preference(winner.record), order.size());
  std::sort(order.begin(), order.end());
  std::vector<Winner> sorted;
  sorted.reserve(winners.size());
  for (const auto& [preference, place] : order) sorted.push_back(std::move(winners[place]));
  winners = std::move(sorted);
}

TunedRows load_rows(const Database& database, const std::string& arch,
                    const KernelRevisions& revisions, const WinnerRule& rule) {
  TunedRows rows{load_winners(database, arch, revisions, Launches::any, rule), {}};
  for (Winner& winner : library_winners(database, arch, revisions, rule)) {
    rows.winners.push_back(std::move(winner));
  }
  sort_by_preference(rows.winners);
  // Each costs the first question about a problem a microsecond.
  constexpr std::int64_t kMostTimed = 2048;
  if (rule == WinnerRule()) rows.timed = database.fastest_configs(arch, revisions, kMostTimed);
  return rows;
}

Tuned load_tuned(const Database& database, const std::string& arch,
                 const KernelRevisions& revisions, const WinnerRule& rule) {
  TunedRows rows = load_rows(database, arch, revisions, rule);
  return {std::move(rows.winners), std::move(rows.timed)};
}

}  // namespace gemm_tune
