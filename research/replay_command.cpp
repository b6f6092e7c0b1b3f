// SPDX-License-Identifier: Apache-2.0
// gemm-tune-research replay: how good a strategy's search of recorded sweeps is.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <set>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "research/classics.h"
#include "research/commands.h"
#include "research/replay.h"
#include "search/strategy/transfer.h"

namespace gemm_tune {
namespace {

struct ReplayOptions {
  std::vector<std::string> sweeps;
  std::string prior = "none";
  std::string budget = "200";
  std::size_t known = std::numeric_limits<std::size_t>::max();
  ReplayRule rule;
  std::string trace;
  bool json = false;
};

std::size_t parse_budget(const std::string& text) {
  if (text == "all") return std::numeric_limits<std::size_t>::max();
  const std::optional<std::size_t> budget = parse_number<std::size_t>(text);
  if (!budget || *budget == 0) throw UsageError("budget '" + text + "' is no count above 0");
  return *budget;
}

// The expected times of each sweep, as --prior says.
class Priors {
 public:
  Priors(const std::string& prior, std::size_t known) : prior_(prior), known_(known) {
    if (std::set<std::string>{"none", "model", "others"}.contains(prior)) return;
    from_file_ = read_sweeps(prior);
    if (from_file_.size() == 1) return;
    throw UsageError(fmt::format("the prior '{}' holds {} sweeps: name a file that holds one",
                                 prior, from_file_.size()));
  }

  std::vector<double> of(const Sweep& sweep, const std::vector<Sweep>& all) const {
    if (prior_ == "none") return {};
    if (!from_file_.empty()) {
      if (from_file_[0].name != sweep.name) return prior_from(from_file_[0], sweep);
      throw UsageError("the prior '" + sweep.name + "' is the sweep that it would foretell");
    }
    std::vector<const Sweep*> others;
    for (const Sweep& other : all) {
      if (prior_ == "others" && &other != &sweep) others.push_back(&other);
    }
    return transferred_prior(sweep, others, known_);
  }

  // Whether the prior has timings of a problem near the sweep's.
  bool know_near(const Sweep& sweep, const std::vector<Sweep>& all) const {
    return prior_ == "others" && std::any_of(all.begin(), all.end(), [&](const Sweep& other) {
             return &other != &sweep && other.family == sweep.family && other.problem &&
                    sweep.problem && is_near(*other.problem, *sweep.problem);
           });
  }

 private:
  std::string prior_;
  std::size_t known_;
  std::vector<Sweep> from_file_;
};

void run_replay(const ReplayOptions& options) {
  ReplayRule rule = options.rule;
  rule.budget = parse_budget(options.budget);
  std::vector<Sweep> sweeps;
  for (const std::string& path : options.sweeps) {
    for (Sweep& sweep : read_sweeps(path)) sweeps.push_back(std::move(sweep));
  }
  std::vector<std::vector<double>> priors;  // all are read before a file is written
  const Priors prior(options.prior, options.known);
  for (const Sweep& sweep : sweeps) priors.push_back(prior.of(sweep, sweeps));

  const std::string label = rule.strategy + (options.prior == "none" ? "" : ", with a prior");
  std::ofstream trace;
  if (!options.trace.empty()) trace.open(options.trace);
  if (!trace) throw UsageError("'" + options.trace + "' cannot be written");
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    rule.is_near_known = prior.know_near(sweeps[i], sweeps);
    const Replay result = replay(sweeps[i], priors[i], rule);
    if (trace.is_open()) trace << trace_of(sweeps[i], result, label);
    all.push_back(json_of(sweeps[i], result));
    if (!options.json) fmt::print("{}", text_of(sweeps[i], result));
    std::fflush(stdout);
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
}

}  // namespace

void add_replay(CLI::App& app) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* const command = app.add_subcommand("replay", "A search strategy over recorded sweeps");
  ReplayRule& rule = options->rule;
  const std::set<std::string> strategies(kStudiedStrategies.begin(), kStudiedStrategies.end());
  const auto add = [command](const char* name, auto& value, const char* says) {
    return command->add_option(name, value, says)->capture_default_str();
  };
  command
      ->add_option("sweeps", options->sweeps,
                   "Kernel Tuner cache files or T4 results (.json, .json.gz), or databases (.db); "
                   "at most 256 MB of JSON, unpacked, and 500,000 configs each")
      ->required();
  add("--strategy", rule.strategy, "How to search")->check(CLI::IsMember(strategies));
  add("--prior", options->prior,
      "Expected times: none, the static model's (model), the model's corrected by the other sweeps "
      "(others), or those of the sweep in a file");
  command
      ->add_option(
          "--others-known", options->known,
          "Of each other sweep the times of so many configs, which the model expects to be "
          "the fastest; default: all")
      ->check(CLI::PositiveNumber);
  add("--prior-noise", rule.prior_noise,
      "Deviation of what is added to the logarithms of each run's prior")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--stops", rule.stops, "End runs as a search without --budget ends itself");
  add("--repeats", rule.repeats, "Runs of each sweep, each with its own seed")
      ->check(CLI::PositiveNumber);
  add("--budget", options->budget, "Evaluations per run, or 'all'");
  add("--in-flight", rule.in_flight, "Evaluations at the same time")->check(CLI::PositiveNumber);
  add("--seed", rule.seed, "Seed of the first run");
  command->add_option("--trace", options->trace, "New file: a line of JSON for each run")
      ->check(CLI::NonexistentPath);
  command->add_flag("--json", options->json, "Results as JSON");
  command->callback([options] { run_replay(*options); });
}

}  // namespace gemm_tune
