// gemm-tune best: what a program would get for these sizes, and why.
#include <spdlog/fmt/fmt.h>

#include "core/error.h"
#include "db/choose.h"
#include "tuner/commands.h"
#include "tuner/exit_code.h"
#include "tuner/protocol.h"
#include "tuner/report.h"
#include "tuner/sizes.h"
#include "tuner/target.h"

namespace gemm_tune {
namespace {

std::optional<double> time_of(const Choice& choice) {
  if (!choice.winner || choice.match != Match::exact) return std::nullopt;
  const Outcome& outcome = choice.winner->outcome;
  return outcome.timing ? outcome.timing->median_us : outcome.predicted_us;
}

std::string line_for(const Problem& problem, const Choice& choice) {
  std::string text = fmt::format("{}  {}  ", to_string(problem), to_string(choice.match));
  text += choice.config ? to_string(choice.config->config()) : "-";
  if (const auto time_us = time_of(choice); time_us && !choice.is_twin) {
    text += fmt::format("  {:.5g} us, {}", *time_us, tflops_text(problem, *time_us));
  }
  if (choice.winner && choice.winner->source == Source::predicted) {
    text += fmt::format(" ({})", kPredictedLabel);
  }
  return text + "\n    " + choice.explanation + "\n";
}

nlohmann::json json_for(const Problem& problem, const Choice& choice) {
  nlohmann::json json = {{"problem", problem},
                         {"match", to_string(choice.match)},
                         {"config", nullptr},
                         {"source", nullptr},
                         {"time_us", time_of(choice)},
                         {"predicated_twin", choice.is_twin},
                         {"explanation", choice.explanation}};
  if (choice.config) json["config"] = to_string(choice.config->config());
  if (choice.winner) json["source"] = to_string(choice.winner->source);
  return json;
}

}  // namespace

int run_best(const Options& options) {
  const std::vector<Problem> problems = parse_sizes(options.sizes);
  const Target target = resolve_target(options);
  const Database database(database_path(options), Database::Mode::read_only);
  nlohmann::json all = nlohmann::json::array();
  bool found = true;
  for (const Problem& problem : problems) {
    const Choice choice = choose(database, device_key(target.spec), problem);
    found = found && choice.winner.has_value();
    if (options.json) {
      all.push_back(json_for(problem, choice));
    } else {
      fmt::print("{}", line_for(problem, choice));
    }
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return found ? kExitOk : kExitNothingSurvived;
}

}  // namespace gemm_tune
