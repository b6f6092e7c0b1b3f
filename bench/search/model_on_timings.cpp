// SPDX-License-Identifier: Apache-2.0
// What today's static model, with the constants of machine_profile.h, makes of configs that were
// timed. No GPU and no compiler is used; databases are read only.
//
//   model_on_timings DATABASE... [--least 25] [--features FILE]
//
// A line for each problem of a device with so many timed configs: the mean of |log(measured /
// predicted)| around its median over the configs within a fifth of the fastest, and the fastest
// time over the least of the model's first 1, 4, 8 and 16 picks. The last line has the means. A
// config counts once, with its least time; devices that the table of cards lacks are left out. A
// refit of constants changes the header, and runs this before and after. --features: what the
// learned correction reads, as CSV, of every config that it is for; fit_correction.py fits it anew.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/program.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

constexpr std::array<std::size_t, 4> kPicks = {1, 4, 8, 16};
constexpr double kNear = 1.2;  // of the fastest time

struct Times {
  double measured_us, predicted_us;
  double model_us;                             // without the learned correction
  std::optional<CorrectionFeatures> features;  // that it reads
};

// Config -> times, of one problem on one device.
using Timed = std::map<std::string, Times>;

struct Fit {
  double spread = 0;
  std::array<double, kPicks.size()> picks = {};
};

Fit fit_of(const Timed& timed) {
  std::vector<Times> order;
  for (const auto& [config, times] : timed) order.push_back(times);
  std::sort(order.begin(), order.end(),
            [](const Times& a, const Times& b) { return a.predicted_us < b.predicted_us; });
  const double best =
      std::min_element(order.begin(), order.end(), [](const Times& a, const Times& b) {
        return a.measured_us < b.measured_us;
      })->measured_us;
  std::vector<double> errors;
  for (const Times& one : order) {
    if (one.measured_us < kNear * best) {
      errors.push_back(std::log(one.measured_us / one.predicted_us));
    }
  }
  std::sort(errors.begin(), errors.end());
  Fit fit;
  for (const double error : errors) fit.spread += std::abs(error - errors[errors.size() / 2]);
  fit.spread /= static_cast<double>(errors.size());
  double picked = order[0].measured_us;
  for (std::size_t i = 0, pick = 0; i < order.size() && pick < kPicks.size(); ++i) {
    picked = std::min(picked, order[i].measured_us);
    while (pick < kPicks.size() && (i + 1 == kPicks[pick] || i + 1 == order.size())) {
      fit.picks[pick++] = best / picked;
    }
  }
  return fit;
}

void read(const std::string& path, std::map<std::string, Timed>& all) {
  Database(path, Database::Mode::read_only).for_each_record([&](const Record& row) {
    const std::vector<DeviceSpec> cards = find_cards(row.device.name);
    if (cards.size() != 1 || !row.outcome.timing) return;
    std::optional<KnownConfig> config;
    try {
      config = check_config(parse_config(row.config));
    } catch (const UsageError&) {  // of a space that has changed
      return;
    }
    if (config->family->is_library()) return;
    const double us = row.outcome.timing->median_us;
    const ConfigModel model(config->traits, cards[0], std::nullopt,
                            machine_profile(cards[0].arch).model);
    const Prediction predicted = model.predict(row.problem, cards[0].sm_count);
    const Times times = {us, predicted.time_us, predicted.time_us / predicted.correction,
                         model.correction_features(row.problem, cards[0].sm_count)};
    const std::string name = row.device.name + ", " + to_string(row.problem);
    const auto [place, is_new] = all[name].emplace(row.config, times);
    if (!is_new) place->second.measured_us = std::min(place->second.measured_us, us);
  });
}

void write_features(const std::string& path, const std::map<std::string, Timed>& all) {
  std::ofstream file(path);
  file << "problem,config,measured_us,model_us,"
       << fmt::format("{}\n", fmt::join(kCorrectionFeatures, ","));
  for (const auto& [name, timed] : all) {
    for (const auto& [config, times] : timed) {
      if (!times.features) continue;
      file << fmt::format("\"{}\",\"{}\",{},{},{}\n", name, config, times.measured_us,
                          times.model_us, fmt::join(*times.features, ","));
    }
  }
  if (!file.flush()) throw UsageError("'" + path + "' cannot be written");
}

void print(const std::string& name, std::size_t configs, const Fit& fit) {
  fmt::print("{:70} {:6} configs, spread {:.4f}, picks {:.3f}\n", name, configs, fit.spread,
             fmt::join(fit.picks, " "));
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  CLI::App app("The static model on configs that were timed");
  std::vector<std::string> databases;
  std::size_t least = 25;
  app.add_option("DATABASE", databases)->required()->check(CLI::ExistingFile);
  app.add_option("--least", least, "Timed configs of a problem that is looked at");
  std::string features;
  app.add_option("--features", features, "A CSV file for what the learned correction reads");
  parse_or_exit(app, argc, argv);
  std::map<std::string, Timed> all;
  for (const std::string& path : databases) read(path, all);
  if (!features.empty()) write_features(features, all);
  Fit mean;
  std::size_t problems = 0, configs = 0;
  for (const auto& [name, timed] : all) {
    if (timed.size() < least) continue;
    const Fit fit = fit_of(timed);
    print(name, timed.size(), fit);
    mean.spread += fit.spread;
    for (std::size_t i = 0; i < kPicks.size(); ++i) mean.picks[i] += fit.picks[i];
    configs += timed.size();
    ++problems;
  }
  if (problems == 0) {
    fmt::print(stderr, "no problem has {} timed configs\n", least);
    return 3;
  }
  mean.spread /= static_cast<double>(problems);
  for (double& pick : mean.picks) pick /= static_cast<double>(problems);
  print(fmt::format("mean of {} problems", problems), configs, mean);
}
